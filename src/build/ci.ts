/** `.ci/run`: runs everything that can run on this machine and prints the sum. */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root } from './bundles.ts';
import { addCounts, type Counts, countsSchema, noCounts, printResult } from './suites/counts.ts';
import { KITS, missingKit } from './system/kits.ts';
import { missingPython, WORLDS } from './system/python.ts';

const total = noCounts();

/** Runs test.ts with these arguments. A run without a result counts as one failure. */
function suite(name: string, args: readonly string[]): void {
  const file = path.join(root, 'test/.out', `${name}.json`);
  rmSync(file, { force: true });
  const started = Date.now();
  spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', path.join(root, 'src/build/test.ts'), ...args],
    { cwd: root, stdio: 'inherit' },
  );
  let result: Counts = { ...noCounts(), failed: 1 };
  try {
    result = countsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (error) {
    console.error(`${name}: the run has no result: ${error instanceof Error ? error.message : String(error)}`);
  }
  addCounts(total, result);
  console.log(`${name}: ${Math.round((Date.now() - started) / 1000)} s`);
}

suite('all', []);
for (const name of ['deep', 'webview', 'vscode']) suite(name, [name]);
const noPython = missingPython();
if (noPython === undefined) suite(WORLDS, [WORLDS]);
else console.log(`test:${WORLDS} was skipped: ${noPython}`);
delete process.env['KUBECONFIG']; // tests must not use the user's cluster, only the kit's
for (const { suite: name } of Object.values(KITS)) {
  const missing = missingKit(name);
  if (missing === undefined) suite(name, [name]);
  else console.log(`test:${name} was skipped: ${missing}`);
}
printResult(total);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

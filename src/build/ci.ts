/** `.ci/run`: everything that can run on this machine, added up. */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { root } from './bundles.ts';
import { KITS, missingKit } from './system/kits.ts';

const count = z.object({ passed: z.number(), failed: z.number(), skipped: z.number(), flaky: z.number() });
const total = { passed: 0, failed: 0, skipped: 0, flaky: 0 };

/** Runs test.ts with these arguments; a run that broke off counts as one failure. */
function suite(name: string, args: readonly string[]): void {
  const result = path.join(root, 'test/.out', `${name}.json`);
  rmSync(result, { force: true });
  const started = Date.now();
  spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', path.join(root, 'src/build/test.ts'), ...args],
    { cwd: root, stdio: 'inherit' },
  );
  let got = { passed: 0, failed: 1, skipped: 0, flaky: 0 };
  try {
    got = count.parse(JSON.parse(readFileSync(result, 'utf8')));
  } catch (error) {
    console.error(`${name}: the run gave no result: ${error instanceof Error ? error.message : String(error)}`);
  }
  total.passed += got.passed;
  total.failed += got.failed;
  total.skipped += got.skipped;
  total.flaky += got.flaky;
  console.log(`${name}: ${Math.round((Date.now() - started) / 1000)} s`);
}

suite('all', []);
for (const name of ['webview', 'vscode']) suite(name, [name]);
delete process.env['KUBECONFIG']; // whatever cluster somebody works with is none for tests: the kit's is
for (const { suite: name } of Object.values(KITS)) {
  const missing = missingKit(name);
  if (missing === undefined) suite(name, [name]);
  else console.log(`test:${name} is left out: ${missing}`);
}
console.log(
  `${total.passed} passed, ${total.failed} ` +
    `failed${total.skipped === 0 ? '' : `, ${total.skipped} skipped`}${total.flaky === 0 ? '' : `, ${total.flaky} flaky`}`,
);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

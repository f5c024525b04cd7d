/**
 * `npm test` and `npm run test:<suite>`: runs suites with Node's own test runner and prints `N passed, N failed`.
 *
 *   test.ts                  check, then every suite that needs nothing but npm packages
 *   test.ts <suite> […]      these suites
 *   test.ts <file.test.ts>   these files
 */
import { mkdirSync, globSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { root } from './bundles.ts';
import { KITS, missingKit } from './kits.ts';

/** Suites of `npm test`, in order. */
const ALWAYS = ['unit', 'contract', 'process'] as const;
/** Files of one suite that may run at once: process tests start several processes each. */
const CONCURRENCY: Readonly<Record<string, number>> = { unit: 2, contract: 2, process: 2 };
/** A kit may have to install and make its counterpart first. */
const FILE_TIMEOUT_MS = { usual: 10 * 60_000, kit: 30 * 60_000 } as const;

interface Count { passed: number; failed: number; skipped: number }

async function runSuite(name: string, files: string[]): Promise<Count> {
  const count: Count = { passed: 0, failed: 0, skipped: 0 };
  const stream = run({ files, concurrency: CONCURRENCY[name] ?? 1, timeout: Object.hasOwn(KITS, name) ? FILE_TIMEOUT_MS.kit : FILE_TIMEOUT_MS.usual, cwd: root, execArgv: ['--disable-warning=ExperimentalWarning'] });
  stream.on('test:pass', (event) => {
    if (event.details.type === 'suite') return;
    if (event.skip !== undefined && event.skip !== false) count.skipped += 1;
    else count.passed += 1;
  });
  stream.on('test:fail', (event) => {
    if (event.details.type !== 'suite') count.failed += 1;
  });
  for await (const line of stream.compose(new spec())) process.stdout.write(String(line));
  return count;
}

function filesOf(suite: string): string[] {
  return globSync(`test/${suite}/**/*.test.ts`, { cwd: root }).map((file) => path.join(root, file)).sort();
}

const asked = process.argv.slice(2);
const single = asked.filter((name) => name.endsWith('.ts'));
const suites = asked.length === 0 ? [...ALWAYS] : asked.filter((name) => !name.endsWith('.ts'));
const total: Count = { passed: 0, failed: 0, skipped: 0 };
const add = (count: Count): void => {
  total.passed += count.passed;
  total.failed += count.failed;
  total.skipped += count.skipped;
};

if (asked.length === 0) {
  const check = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', path.join(root, 'src/build/check.ts')], { cwd: root, stdio: 'inherit' });
  add({ passed: check.status === 0 ? 1 : 0, failed: check.status === 0 ? 0 : 1, skipped: 0 });
}
for (const suite of suites) {
  const missing = missingKit(suite);
  if (missing !== undefined) {
    console.error(`test:${suite} did not run: ${missing}`);
    process.exit(2);
  }
  const files = filesOf(suite);
  if (files.length === 0) {
    console.error(`test:${suite}: there is no file test/${suite}/**/*.test.ts`);
    process.exit(2);
  }
  console.log(`\n── ${suite} (${files.length} files)`);
  add(await runSuite(suite, files));
}
if (single.length > 0) add(await runSuite('files', single.map((file) => path.resolve(file))));

mkdirSync(path.join(root, 'test/.out'), { recursive: true });
writeFileSync(path.join(root, 'test/.out', `${asked.length === 0 ? 'all' : asked.join('-').replace(/[^\w-]/g, '_')}.json`), JSON.stringify(total));
console.log(`\n${total.passed} passed, ${total.failed} failed${total.skipped === 0 ? '' : `, ${total.skipped} skipped`}`);
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1);

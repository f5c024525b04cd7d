/**
 * `npm run bench [name …]`: runs the benchmarks of test/perf, one after another. The name of a folder runs everything
 * in it (`window`); without a name, folders are skipped.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { root } from './bundles.ts';

const FOLDER = path.join(root, 'test', 'perf');
const ENDING = '.bench.ts';

/** Names as typed on the command line, including `window/live`. */
const all = globSync(`**/*${ENDING}`, { cwd: FOLDER })
  .map((file) => file.slice(0, -ENDING.length).split(path.sep).join('/'))
  .sort();
const requested = process.argv.slice(2).map((name) => name.replace(/\/$/, ''));
const unknown = requested.filter((name) => named(name).length === 0);
if (unknown.length > 0) {
  console.error(`Unknown benchmark ${unknown.join(', ')}. Available: ${all.join(', ')}.`);
  process.exit(2);
}
for (const name of requested.length === 0 ? all.filter((one) => !one.includes('/')) : requested.flatMap(named)) {
  console.log(`\n── ${name}`);
  const done = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', path.join(FOLDER, `${name}${ENDING}`)],
    { cwd: root, stdio: 'inherit' },
  );
  if (done.status !== 0) process.exitCode = 1;
}

function named(requested: string): string[] {
  return all.filter((name) => name === requested || name.startsWith(`${requested}/`));
}

/**
 * `npm run bench [name …]`: runs the benchmarks of test/perf, one after the other. A folder's name runs all that are in
 * it (`window`), and those only then.
 */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { root } from './bundles.ts';

const FOLDER = path.join(root, 'test', 'perf');
const ENDING = '.bench.ts';

/** Names as one types them, `window/live` too. */
const all = globSync(`**/*${ENDING}`, { cwd: FOLDER })
  .map((file) => file.slice(0, -ENDING.length).split(path.sep).join('/'))
  .sort();
const requested = process.argv.slice(2).map((name) => name.replace(/\/$/, ''));
const unknown = requested.filter((name) => named(name).length === 0);
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${all.join(', ')}.`);
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

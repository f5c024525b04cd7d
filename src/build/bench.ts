/** `npm run bench [name …]`: runs the benchmarks of test/perf, one after the other. */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import path from 'node:path';
import { root } from './bundles.ts';

const all = globSync('test/perf/*.bench.ts', { cwd: root }).map((file) => path.basename(file, '.bench.ts')).sort();
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}. There are: ${all.join(', ')}.`);
  process.exit(2);
}
for (const name of asked.length === 0 ? all : asked) {
  console.log(`\n── ${name}`);
  const done = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', path.join(root, 'test/perf', `${name}.bench.ts`)], { cwd: root, stdio: 'inherit' });
  if (done.status !== 0) process.exitCode = 1;
}

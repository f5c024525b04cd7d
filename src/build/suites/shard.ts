/**
 * Runs test files in this process: `shard.ts FILE…`. Sends the result of each file to the parent process.
 *
 * Unit tests leave nothing behind, so they need no separate processes: starting one for each file, and loading the same
 * modules in each, takes longer than the tests.
 */
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { root } from '../bundles.ts';
import { type Counts, noCounts } from './counts.ts';
import { failureText } from './failure.ts';
import { endDespiteLeftovers } from './leftovers.ts';

const files = process.argv.slice(2);
const results = new Map<string, { counts: Counts; ms: number }>(
  files.map((file) => [file, { counts: noCounts(), ms: 0 }]),
);
const stream = run({ files, cwd: root, isolation: 'none' });
const count = (kind: 'passed' | 'failed', file: string | undefined, nesting: number, details: Details): void => {
  const result = file === undefined ? undefined : results.get(file);
  if (result === undefined) return;
  if (nesting === 0) result.ms += details.duration_ms;
  if (details.type !== 'suite') result.counts[kind]++;
};
interface Details {
  readonly duration_ms: number;
  readonly type?: string;
}
stream.on('test:pass', ({ file, nesting, details, skip, todo }) => {
  if (skip === undefined && todo === undefined) count('passed', file, nesting, details);
  else if (file !== undefined) (results.get(file)?.counts ?? noCounts()).skipped++;
});
stream.on('test:fail', (failed) => {
  const { file, nesting, details } = failed;
  count('failed', file, nesting, details);
  const failure = failureText(failed);
  if (file !== undefined && failure !== undefined) results.get(file)?.counts.failures.push(failure);
});
for await (const line of stream.compose(new spec())) process.stdout.write(String(line));
process.send?.([...results]);
process.disconnect();
endDespiteLeftovers();

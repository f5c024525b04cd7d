// Settings of a batch file that control its attempts.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadBatch } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { BATCH, FILES } from './sample.ts';

/** Loads the sample batch with a change. Returns the problems. */
async function problems(from: string, to: string): Promise<string[]> {
  assert.ok(BATCH.includes(from));
  const files = memoryFiles({ ...FILES, 'batches/nightly.batch.yaml': BATCH.replace(from, to) });
  return (await loadBatch(files, 'batches/nightly.batch.yaml')).problems.map((problem) => formatProblem(problem, '/w'));
}

describe('stop.rollout', () => {
  it('is checked when the file is read, with the place of the error', async () => {
    const stop = (condition: string): Promise<string[]> =>
      problems('tokens: 50M }', `tokens: 50M, rollout: '${condition}' }`);
    assert.deepEqual(await stop('repeats > 3 || usage.tokens > 50000'), []);
    const [unknown] = await stop('steps > 3 && repeat > 2');
    assert.match(
      unknown!,
      /^batches\/nightly\.batch\.yaml:8:80: column 14 of `rollout`: there is no variable "repeat" /,
    );
    assert.match(unknown!, /over steps, calls, repeats, errors, ms, usage, such as repeats > 3/);
    const [same] = await stop('true');
    assert.match(same!, /:8:67: column 1 of `rollout`: The expression is the same for every rollout/);
  });
});

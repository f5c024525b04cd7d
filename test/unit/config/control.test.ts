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

describe('attempts', () => {
  it('are a number, or say until when a task gets more', async () => {
    const attempts = (written: string): Promise<string[]> =>
      problems(
        'attempts: 32\nseed: 7\nscorer: { kind: exact }\nstop: { passes_per_task: 8, ',
        `attempts: ${written}
seed: 7
scorer: { kind: exact }
stop: { `,
      );
    assert.deepEqual(await attempts('3'), []);
    assert.deepEqual(await attempts('{ least: 4, most: 32, until: informative }'), []);
    assert.deepEqual(await attempts('{ least: 9, most: 8, until: solved }'), [
      'batches/nightly.batch.yaml:5:20: `least` is 9, but `most` is 8 — Increase `most`, or decrease `least`.',
    ]);
    const [unknown] = await attempts('{ least: 2, most: 8, until: passed }');
    assert.match(unknown!, /^batches\/nightly\.batch\.yaml:5:\d+: /);
    assert.match(unknown!, /informative/);
  });

  it('with `until` do not go together with passes_per_task', async () => {
    const [problem, ...others] = await problems('attempts: 32', 'attempts: { least: 4, most: 32, until: solved }');
    assert.match(problem!, /:8:26: `attempts\.until` already says when a task gets no more attempts/);
    assert.deepEqual(others, []);
  });
});

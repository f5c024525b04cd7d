import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadBatch } from '../../../src/config/load.ts';
import { formatProblem } from '../../../src/config/source/problem.ts';
import { partAt, type SubmittedPart, withPart } from '../../../src/config/submission/mix.ts';
import type { Submission } from '../../../src/config/submission.ts';
import { submission as directed } from '../../support/directed.ts';
import { memoryFiles } from '../../support/memoryFiles.ts';
import { FILES } from './sample.ts';

const submission = directed();
const mixOf = (...percent: number[]): SubmittedPart[] =>
  percent.map((share, index) => ({ name: String(index + 1), share: share * 10_000 }));

/** How many of the first `n` attempts of a task are of each part. */
function counts(mix: SubmittedPart[], task: string, n: number): number[] {
  const names = Array.from({ length: n }, (_none, index) => partAt({ mix, seed: 7 }, task, index + 1)?.name);
  return mix.map(({ name }) => names.filter((one) => one === name).length);
}

describe('the parts of attempts', () => {
  it('have their shares exactly in each task, whenever these are whole numbers of attempts', () => {
    for (let task = 0; task < 50; task++) {
      for (const n of [4, 8, 16]) {
        assert.deepEqual(counts(mixOf(75, 25), `t${task}`, n), [0.75 * n, 0.25 * n]);
        assert.deepEqual(counts(mixOf(50, 25, 25), `t${task}`, n), [0.5 * n, 0.25 * n, 0.25 * n]);
      }
      assert.deepEqual(counts(mixOf(70, 20, 10), `t${task}`, 10), [7, 2, 1]);
      assert.deepEqual(counts(mixOf(33.3, 33.3, 33.4), `t${task}`, 1000), [333, 333, 334]);
    }
  });

  it('are rounded for every other number of attempts, and have their shares over all tasks', () => {
    for (const [mix, bound] of [
      [mixOf(75, 25), 1],
      [mixOf(5, 95), 1],
      [mixOf(60, 30, 10), 2],
    ] as const) {
      for (const n of [1, 2, 3, 5, 7, 32]) {
        const sums = mix.map(() => 0);
        const tasks = 2000;
        for (let task = 0; task < tasks; task++) {
          for (const [index, count] of counts(mix, `t${task}`, n).entries()) {
            assert.ok(Math.abs(count - (n * (mix[index]?.share ?? 0)) / 1e6) < bound);
            sums[index] = (sums[index] ?? 0) + count;
          }
        }
        for (const [index, { share }] of mix.entries())
          assert.ok(
            Math.abs((sums[index] ?? 0) / (tasks * n) - share / 1e6) < 0.04 / Math.sqrt(n),
            `${n}: ${sums.join()}`,
          );
      }
    }
  });

  it('do not change when a task gets more attempts, and depend on the seed', () => {
    const mix = mixOf(50, 50);
    const sequence = (seed: number): string =>
      Array.from({ length: 12 }, (_none, task) => partAt({ mix, seed }, `t${task}`, 1)?.name).join('');
    assert.equal(sequence(1), sequence(1));
    assert.notEqual(sequence(1), sequence(2));
    assert.equal(partAt({ seed: 1 }, 't', 1), undefined);
  });
});

describe('what a part changes', () => {
  const agent = { ...submission.agent, model: { ...submission.agent.model, sampling: { temperature: 0, top_p: 0.9 } } };
  const team: Submission = {
    ...submission,
    agent: {
      ...agent,
      team: { kind: 'leader', itself: true, members: [{ name: 'helper', agent: { ...agent, name: 'helper' } }] },
    },
  };

  it('is the sampling of the agent and its team, and the prompt of the agent alone', () => {
    const part = { sampling: { temperature: 1, extra: { top_k: 4 } }, prompt: { text: 'Be short.' } };
    const changed = withPart(team, part).agent;
    const sampling = { temperature: 1, top_p: 0.9, extra: { top_k: 4 } };
    assert.deepEqual(changed.model.sampling, sampling);
    assert.deepEqual(changed.prompt, { text: 'Be short.' });
    const member = changed.team?.members[0]?.agent;
    assert.deepEqual([member?.model.sampling, member?.prompt], [sampling, agent.prompt]);
    assert.equal(withPart(team, {}), team);
  });
});

describe('a mix in a batch file', () => {
  const load = async (mix: string, changes: Record<string, string> = {}): Promise<string[]> => {
    const path = 'batches/m.batch.yaml';
    const files = memoryFiles({ ...FILES, ...changes, [path]: `${FILES['batches/nightly.batch.yaml']}\nmix:\n${mix}` });
    return (await loadBatch(files, path)).problems.map((problem) => formatProblem(problem, '/w'));
  };
  const lines = FILES['batches/nightly.batch.yaml']!.split('\n').length;
  const at = (line: number, column: number): string => `batches/m.batch.yaml:${lines + 1 + line}:${column}`;

  it('needs shares that add up', async () => {
    assert.deepEqual(await load('  - { share: 75%, sampling: { temperature: 1 } }\n  - { share: 0.25 }\n'), []);
    assert.deepEqual(await load('  - { share: 75% }\n  - { share: 20% }\n'), [
      `${at(2, 14)}: the shares of the parts add up to 95%, not 100% — For example, write \`share: 25%\` here.`,
    ]);
    assert.deepEqual(await load('  - { share: 100% }\n  - { share: 0% }\n'), [
      `${at(2, 14)}: no attempt is of a part with a share of 0 — Remove the part, or increase its share.`,
    ]);
  });

  it('needs prompts that exist, and whose placeholders tasks have', async () => {
    assert.match((await load('  - { share: 100%, prompt: ../agents/prompts/dask.md }\n'))[0]!, /Did you mean/);
    assert.match((await load('  - { share: 100%, prompt: "Level {{task.nope}}" }\n'))[0]!, /no `nope`/);
  });

  it('has names that differ', async () => {
    assert.deepEqual(await load('  - { share: 50%, name: "2" }\n  - { share: 50% }\n'), [
      `${at(2, 5)}: two parts have the name \`2\` — Give each part its own name.`,
    ]);
  });
});

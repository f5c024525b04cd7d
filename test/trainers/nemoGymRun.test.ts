/** NeMo Gym's own client drives `rollout gym`, and its own classes and metrics check what it answers. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { z } from 'zod';
import { Bench } from '../support/cli.ts';
import { Gym, gymRow } from '../support/gymProcess.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { runPython } from './support/python.ts';

const STEPS = 3;
const question = `call calculate {"expression":"1 + 1"} times ${STEPS}\nanswer {{last}}`;
const printed = z.array(
  z.object({ reward: z.number().nullable(), calls: z.number().nullable(), failure: z.string().nullable() }),
);

describe("NeMo Gym's client", { timeout: 600_000 }, () => {
  let workspace: Workspace;
  let gym: Gym | undefined;
  before(() => {
    workspace = new Workspace(new Bench());
  });
  after(async () => {
    await gym?.stop();
    await workspace.close();
  });

  it('collects rollouts that can be trained, and agrees on their metrics; a failure counts in none', async () => {
    const file = workspace.batch('gym', {
      endpoint: 'demo:',
      tasks: [
        { id: 'right', question, answer: '2' },
        { id: 'wrong', question, answer: '3' },
        { id: 'unknown', question, answer: '2' },
      ],
      agent: { tools: [{ builtin: ['calculator'] }] },
      model: { capture: { token_ids: true, logprobs: true } },
      batch: { scorer: { kind: 'module', module: 'score.ts' } },
    });
    workspace.write(
      'score.ts',
      `export const score = ({ task, answer }) => {
        if (task.id === 'unknown') throw new Error('nobody knows');
        return { value: answer === task.answer ? 1 : 0, passed: answer === task.answer, parts: { exact: 0.5 } };
      };`,
    );
    gym = await Gym.start(workspace, file);
    const rows = ['right', 'wrong', 'unknown'].flatMap((task, index) => [0, 1].map((n) => gymRow(task, [index, n])));
    const lines = workspace.write('rows.jsonl', rows.map((row) => JSON.stringify(row)).join('\n'));
    const found = await runPython({ trainer: 'nemo-gym', script: 'nemo_gym_run.py', args: [gym.url, lines] }, printed);
    const trained = { calls: STEPS + 1, failure: null };
    const failed = { reward: null, calls: null, failure: 'legitimate' };
    assert.deepEqual(found, [
      ...Array.from({ length: 2 }, () => ({ reward: 1, ...trained })),
      ...Array.from({ length: 2 }, () => ({ reward: 0, ...trained })),
      failed,
      failed,
    ]);
  });
});

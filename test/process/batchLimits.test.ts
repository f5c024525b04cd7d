// Settings of a batch file that end attempts early.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADD, WorkspaceBench } from '../support/workspace.ts';

const bench = new WorkspaceBench();
after(() => bench.close());

const call = (n: number): string => `call calculate {"expression": "${n} + 1"}\n`;

test('stop.rollout ends attempts that go in circles, and the report counts them and their tokens', {
  timeout: 120_000,
}, async () => {
  const file = bench.batch('circles', {
    tasks: { circles: `${call(1).repeat(6)}answer 42`, straight: ADD },
    batch: "attempts: 2\nstop: { rollout: 'repeats > 1' }\n",
  });
  const { code, stdout, stderr } = await bench.rollout(['run', file]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /2 passed, 2 failed, 2 truncated/);
  const batch = /\bb[0-9a-z]{8,}/.exec(stderr + stdout)?.[0] ?? '';
  const rows = await bench.rows(batch);
  const circling = rows.filter(({ task }) => task === 'circles');
  assert.deepEqual(
    circling.map(({ progress }) => [progress.status, progress.steps, progress.limit, progress.cause?.text]),
    Array.from({ length: 2 }, () => ['truncated', 3, 'condition', 'stop condition']),
  );
  const tokens = circling.reduce((sum, { progress }) => sum + progress.input_tokens + progress.output_tokens, 0);
  const report = await bench.rollout(['report', batch, '--json']);
  assert.deepEqual((JSON.parse(report.stdout) as { stopped: unknown }).stopped, { attempts: 2, tokens });
  assert.match(stdout, /stopped {4}2 attempts by stop\.rollout, after /);
});

test('tasks get attempts until they are informative, and the report says what that saved', {
  timeout: 120_000,
}, async () => {
  const file = bench.batch('adaptive', {
    // The demo model never gives another answer, so that no task becomes informative.
    tasks: { wrong: 'answer 41', right: ADD },
    batch: 'attempts: { least: 2, most: 5, until: solved }\n',
  });
  const { code, stdout, stderr } = await bench.rollout(['run', file]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /2 tasks, 7 attempts: 2 passed, 5 failed/);
  assert.match(stdout, /attempts {3}2 to 5 per task until solved: 3 saved, 0 tasks with both outcomes/);
  const batch = /\bb[0-9a-z]{8,}/.exec(stderr + stdout)?.[0] ?? '';
  const rows = await bench.rows(batch);
  const of = (id: string): number[] =>
    rows
      .filter(({ task }) => task === id)
      .map(({ attempt }) => attempt)
      .sort();
  assert.deepEqual(
    [of('wrong'), of('right')],
    [
      [1, 2, 3, 4, 5],
      [1, 2],
    ],
  );
  const report = await bench.rollout(['report', batch, '--json']);
  const parsed = JSON.parse(report.stdout) as { adaptive: unknown; pass_at: Record<string, number>; open: number };
  assert.deepEqual(parsed.adaptive, { least: 2, most: 5, until: 'solved', saved: 3, informative: 0 });
  assert.deepEqual([Object.keys(parsed.pass_at), parsed.pass_at['1'], parsed.open], [['1', '2'], 0.5, 0]);
});

/** The queue of a batch file: those of the server where it runs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queueProblems } from '../../../src/language/diagnostics/queues.ts';
import { complete } from '../../../src/language/features/completion.ts';
import { hover } from '../../../src/language/features/hover.ts';
import { NO_FACTS } from '../../../src/language/workspace/facts.ts';
import type { Workspace } from '../../../src/language/workspace.ts';
import type { QueueInfo } from '../../../src/protocol/shares.ts';
import { at, DESK, workspaceOf } from './workspaceKit.ts';

const BATCH = '/w/batches/one.batch.yaml';
const QUEUES: Readonly<Record<string, QueueInfo[]>> = {
  gpus: [
    { name: 'default', weight: 1 },
    { name: 'research', weight: 2, rollouts: 200, pods: 8, tokens_per_hour: 50_000_000 },
  ],
  other: [{ name: 'night', weight: 1 }],
  local: [],
};

function workspace(lines: string, inUse = 'gpus'): Workspace {
  const queues = (named = inUse) => {
    const known = QUEUES[named];
    return known === undefined ? undefined : { target: named, queues: known };
  };
  return workspaceOf({ ...DESK, [BATCH]: `${DESK[BATCH] ?? ''}${lines}` }, { ...NO_FACTS, queues });
}

const namesAt = async (lines: string, inUse?: string): Promise<unknown> => {
  const open = workspace(lines, inUse);
  return (await complete(open, BATCH, await at(open, BATCH, 'rese')))?.items.map(({ label, detail }) => [
    label,
    detail,
  ]);
};

test('completes the queues of the target in use, or of the one that the file names', async () => {
  assert.deepEqual(await namesAt('queue: rese\n'), [
    ['default', 'weight 1'],
    ['research', 'weight 2, at most 200 rollouts and 8 pods at once, 50.0M tokens per hour'],
  ]);
  assert.deepEqual(await namesAt('target: other\nqueue: rese\n'), [['night', 'weight 1']]);
  assert.deepEqual(await namesAt('target: unseen\nqueue: rese\n'), []);
});

test('shows weight and limits in hovers', async () => {
  const textOf = async (lines: string, inUse?: string): Promise<string> => {
    const open = workspace(lines, inUse);
    return JSON.stringify((await hover(open, BATCH, await at(open, BATCH, 'queue:')))?.contents);
  };
  assert.match(
    await textOf('queue: research\n'),
    /`research` on `gpus`: weight 2, at most 200 rollouts and 8 pods at once, 50\.0M tokens per hour/,
  );
  assert.match(await textOf('queue: research\n'), /Queues of `gpus`: `default`, `research`/);
  assert.match(await textOf('queue: research\n', 'local'), /`local` has no queues, and ignores this\./);
  assert.doesNotMatch(await textOf('queue: research\n', 'unseen'), /Queues of/);
});

test('warns of a queue that the server does not have', async () => {
  const problems = (lines: string, inUse?: string) => queueProblems(workspace(lines, inUse), BATCH);
  const [problem, ...more] = await problems('queue: reserch\n');
  assert.deepEqual(
    [more.length, problem?.severity, problem?.message, problem?.hint, problem?.fixes],
    [
      0,
      'warning',
      'The target gpus has no queue `reserch`',
      'Did you mean `research`?',
      [{ do: 'replace', text: 'research' }],
    ],
  );
  assert.equal((await problems('queue: xyz\n'))[0]?.hint, 'Its queues: default, research.');
  for (const [lines, inUse] of [
    ['queue: research\n', 'gpus'],
    ['', 'gpus'],
    ['queue: research\n', 'local'],
    ['queue: research\n', 'unseen'],
    ['target: unseen\nqueue: research\n', 'gpus'],
  ] as const)
    assert.deepEqual(await problems(lines, inUse), [], lines);
});

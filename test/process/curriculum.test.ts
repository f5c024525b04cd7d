/** Batches that run only some tasks of a dataset, by the pass rates of an earlier batch, with real processes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newId } from '../../src/common/ids.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import { type DemoServer, startDemoServer } from '../support/demoServer.ts';
import { ofKind, type TaskLine, Workspace } from '../support/testWorkspace.ts';

let demo: DemoServer;
const workspace = new Workspace();
before(async () => {
  demo = await startDemoServer();
});
after(async () => {
  await workspace.close();
  await demo.close();
});

const solved = (id: string): TaskLine => ({ id, question: 'answer 1', answer: '1' });
const missed = (id: string): TaskLine => ({ id, question: 'answer 1', answer: '2' });
/** The same tasks, which are solved now, and a new one. */
const NEXT = ['new', 'easy-1', 'hard-1', 'easy-2', 'hard-2'].map(solved);

async function finished(name: string, tasks: readonly TaskLine[], batch: object): Promise<Report> {
  const file = workspace.batch(name, { endpoint: demo.url, tasks, batch: { ...batch, concurrency: 1 } });
  return workspace.json<Report>('run', file);
}

/** Tasks in the order in which their first attempts began. */
async function order(batch: string): Promise<string[]> {
  const rows = await workspace.rows(batch);
  const begun = rows.toSorted(
    (a, b) =>
      (a.progress.started_at ?? 0) - (b.progress.started_at ?? 0) || a.rev - b.rev || a.task_index - b.task_index,
  );
  return [...new Set(begun.map(({ task }) => task))];
}

describe('a curriculum', { timeout: 480_000 }, () => {
  it('leaves out tasks by the rates of an earlier batch, orders the others, and says what it saved', async () => {
    const first = await finished('first', [solved('easy-1'), missed('hard-1'), solved('easy-2'), missed('hard-2')], {
      attempts: 2,
    });
    assert.deepEqual([first.attempts, first.passed, first.curriculum], [8, 4, null]);

    const hard = await finished('hard', NEXT, {
      attempts: 3,
      curriculum: { by: 'last', keep: ['0%', '90%'], order: 'hard_first' },
    });
    assert.deepEqual(await order(hard.batch), ['hard-1', 'hard-2', 'new']);
    assert.equal(hard.attempts, 9);
    assert.deepEqual(hard.curriculum, { by: first.batch, kept: 3, too_hard: 0, too_easy: 2, unknown: 1, saved: 6 });
    const { stdout } = await workspace.run('report', hard.batch);
    const text = `2 tasks left out by their pass rates in ${first.batch} (2 too easy); 1 task without one kept`;
    assert.match(
      stdout,
      new RegExp(`^curriculum ${text.replaceAll(/[()]/g, String.raw`\$&`)}: 6 attempts saved$`, 'm'),
    );
    const events = await workspace.events(hard.batch);
    const notes = events.flatMap((event) => (event.kind === 'infra' ? [event.data.text] : []));
    assert.deepEqual(notes, [`Curriculum: ${text}.`], 'its page says it');

    const easy = await finished('easy', NEXT, { curriculum: { by: first.batch, order: 'easy_first' } });
    assert.deepEqual(await order(easy.batch), ['easy-1', 'easy-2', 'hard-1', 'hard-2', 'new']);
    assert.equal(easy.curriculum?.saved, 0);

    // Named tasks run in any case, and so does what a debugger or a person asks for.
    const named = await workspace.json<Report>('run', 'hard.batch.yaml', '--task', 'easy-1');
    assert.deepEqual([named.tasks, named.curriculum], [1, null]);
    const held = await workspace.json<{ batch: string }>('run', 'hard.batch.yaml', '--hold-attempt', '1', '--detach');
    await workspace.waitForRows(held.batch, ([row]) => row?.state === 'held');
    const api = await workspace.api();
    assert.deepEqual(
      (await api.tasks(held.batch)).tasks.map(({ id }) => id),
      ['new'],
    );
    await api.commandBatch(held.batch, { command: newId('c'), verb: 'cancel' });
    const { estimate } = await workspace.json<{ estimate: { tasks: number } }>('run', 'hard.batch.yaml', '--dry-run');
    assert.equal(estimate.tasks, 4, 'in the newest batch, easy-1 alone passed');
  });

  it('moves its band: a task that got too easy begins no more attempts, and the batch ends without them', async () => {
    const first = await finished('before', [missed('a'), missed('b')], { attempts: 1 });
    const moved = await finished('moved', [solved('a'), missed('b')], {
      attempts: 14,
      order: 'depth',
      curriculum: { by: first.batch, keep: ['0%', '90%'], refresh: 5 },
    });
    // 10 of 11 passed after the second refresh.
    assert.deepEqual([moved.passed, moved.failed, moved.cancelled, moved.open], [10, 14, 4, 0]);
    const { outside, outside_attempts: spent, moves, not_begun: notBegun } = moved.curriculum ?? {};
    assert.deepEqual([outside, spent, moves, notBegun], [1, 10, 1, 4]);
    assert.equal(moved.pass_at, null);
    assert.match(moved.why['pass_at'] ?? '', /stops a task outside the band of its curriculum/);
    const { stdout } = await workspace.run('report', moved.batch);
    assert.match(
      stdout,
      /^ {11}its band: 1 task outside now, moved once, 10 attempts spent outside, 4 attempts not begun$/m,
    );
    const notes = (await workspace.events(moved.batch)).flatMap((event) =>
      event.kind === 'infra' ? [event.data.text] : [],
    );
    assert.deepEqual(notes.slice(1), ['Curriculum: 1 too easy; 1 task outside 0% to 90% now.']);
    const left = (await workspace.rows(moved.batch)).find(({ progress }) => progress.status === 'cancelled');
    const [end] = ofKind(await workspace.events(left?.rollout ?? ''), 'rollout.end');
    assert.equal(end?.data.error?.message, 'curriculum.keep: 10 of its 11 attempts passed, outside 0% to 90%.');
  });

  it('selects the dataset of a batch for groups, and refuses what leaves nothing', async () => {
    const earlier = await finished('earlier', [solved('easy-1'), missed('hard-1')], {});
    const file = workspace.batch('groups', {
      endpoint: demo.url,
      tasks: NEXT,
      batch: { curriculum: { by: earlier.batch, keep: [0, 0.5] }, group: { size: 1 } },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file, '--groups', 'file');
    const api = await workspace.api();
    assert.deepEqual((await api.batch(batch)).curriculum, {
      by: earlier.batch,
      kept: 4,
      unknown: 3,
      too_hard: 0,
      too_easy: 1,
    });
    await api.requestGroup({ batch, group: 'g', task: 'hard-1' });
    await assert.rejects(api.requestGroup({ batch, group: 'h', task: 'easy-1' }), /has no task "easy-1"/);
    await api.finishedGroups(batch, { wait: 60 });
    await api.commandBatch(batch, { command: 'seal-it', verb: 'seal' });

    // The rates of groups are those of the tasks that they repeat.
    const after = workspace.batch('after', {
      endpoint: demo.url,
      tasks: [solved('hard-1')],
      batch: { curriculum: { by: batch, keep: ['10%', '90%'] } },
    });
    const refused = await workspace.run('run', after);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /The curriculum leaves no task: 1 task left out .* \(1 too easy\)\. Widen/);
    const none = workspace.batch('none', {
      endpoint: demo.url,
      tasks: NEXT,
      batch: { curriculum: { by: 'b01hqz6k3v9m2x4p7t', order: 'hard_first' } },
    });
    const unknown = await workspace.run('run', none);
    assert.match(unknown.stderr, /There is no batch b01hqz6k3v9m2x4p7t/);
  });
});

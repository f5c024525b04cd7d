import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attemptsOf, BatchContents, type ContentSource } from '../../../../src/host/views/batches/batchContents.ts';
import type { RolloutRow } from '../../../../src/trace/summary.ts';
import { rolloutRow, scored } from '../rows.ts';

/** A batch of `tasks` tasks with `attempts` attempts each, in pages like a server's. */
class Source implements ContentSource {
  readonly calls: string[] = [];
  readonly #tasks: number;
  readonly #rows: RolloutRow[];

  constructor(tasks: number, attempts: number) {
    this.#tasks = tasks;
    this.#rows = Array.from({ length: tasks }, (_, index) =>
      Array.from({ length: attempts }, (_item, attempt) =>
        scored(`t${index}`, attempt + 1, true, { task_index: index }),
      ),
    ).flat();
  }

  tasks(_batch: string, { after, limit = 1 }: { after?: number; limit?: number }): ReturnType<ContentSource['tasks']> {
    this.calls.push(`tasks after ${String(after)}`);
    const from = after === undefined ? 0 : after + 1;
    const tasks = Array.from({ length: Math.min(limit, this.#tasks - from) }, (_, index) => ({
      id: `t${from + index}`,
      question: `question ${from + index}`,
      meta: {},
    }));
    const last = from + tasks.length - 1;
    return Promise.resolve({ tasks, ...(last < this.#tasks - 1 ? { next: last } : {}) });
  }

  rollouts(
    _batch: string,
    { after, limit = 1, task }: { after?: string; limit?: number; task?: string },
  ): ReturnType<ContentSource['rollouts']> {
    this.calls.push(`rollouts${task === undefined ? '' : ` of ${task}`} after ${String(after)}`);
    const rows = task === undefined ? this.#rows : this.#rows.filter((row) => row.task === task);
    const from = after === undefined ? 0 : Number(after);
    const rollouts = rows.slice(from, from + limit);
    return Promise.resolve({ rollouts, ...(from + limit < rows.length ? { next: String(from + limit) } : {}) });
  }
}

describe('the contents of a batch', () => {
  it('arrive whole where they fit one page', async () => {
    const source = new Source(12, 8);
    const contents = new BatchContents('b1');
    await contents.loadMore(source);
    assert.equal(contents.tasks.length, 12);
    assert.equal(contents.more, false);
    assert.ok(contents.tasks.every((entry) => entry.complete && entry.rows.size === 8));
    assert.deepEqual(source.calls, ['tasks after undefined', 'rollouts after undefined']);
  });

  it('arrive page by page up to the last task, each with its attempts', async () => {
    const source = new Source(337, 10);
    const contents = new BatchContents('b1');
    let pages = 0;
    while (contents.more) {
      await contents.loadMore(source);
      pages++;
    }
    assert.equal(pages, 4);
    assert.deepEqual(
      contents.tasks.map(({ task }) => task),
      Array.from({ length: 337 }, (_, index) => `t${index}`),
    );
    assert.ok(
      contents.tasks.every((entry) => entry.complete && entry.rows.size === 10),
      'rows read with an earlier page are kept for theirs',
    );
    assert.equal(source.calls.filter((call) => call.startsWith('rollouts')).length, 4, 'no row is read twice');
  });

  it('include few rows for a page, and a task’s own once it is opened', async () => {
    const source = new Source(2, 7000);
    const contents = new BatchContents('b1');
    await contents.loadMore(source);
    assert.equal(source.calls.filter((call) => call.startsWith('rollouts')).length, 5);
    const second = contents.entry('t1');
    assert.ok(second !== undefined);
    assert.equal(second.complete, false);
    let more = await contents.loadTask(source, 't1');
    assert.equal(second.rows.size, 200);
    assert.equal(await contents.loadTask(source, 't1'), true, 'looking again reads nothing');
    assert.equal(second.rows.size, 200);
    while (more) more = await contents.loadTask(source, 't1', true);
    assert.equal(second.rows.size, 7000);
    assert.equal(second.complete, true);
  });

  it('are read once for two simultaneous requests', async () => {
    const source = new Source(150, 1);
    const contents = new BatchContents('b1');
    await Promise.all([contents.loadMore(source), contents.loadMore(source)]);
    assert.equal(contents.tasks.length, 100);
  });

  it('accept newer rows and keep them against older ones', async () => {
    const contents = new BatchContents('b1');
    await contents.loadMore(new Source(2, 2));
    const lost = rolloutRow({ task: 't1', attempt: 2, rev: 9, settles: false, progress: { status: 'infrastructure' } });
    const again = rolloutRow({ task: 't1', attempt: 2, try: 2, rev: 12, state: 'running', settles: false });
    assert.deepEqual([...contents.apply([lost, again])], ['t1']);
    assert.deepEqual(
      [
        ...contents.apply([
          { ...lost, rev: 13 },
          { ...again, rev: 11, state: 'queued' },
        ]),
      ],
      [],
      'an older try, and an older state of the newest',
    );
    const entry = contents.entry('t1');
    assert.ok(entry !== undefined);
    assert.deepEqual(
      attemptsOf(entry).map((row) => [row.attempt, row.try, row.state]),
      [
        [1, 1, 'ended'],
        [2, 2, 'running'],
      ],
    );
    assert.equal(contents.rollout('t1', again.rollout)?.rev, 12);
  });

  it('have more once tasks are appended at the end', async () => {
    const contents = new BatchContents('b1');
    await contents.loadMore(new Source(2, 1));
    assert.equal(contents.more, false);
    contents.apply([rolloutRow({ task: 't2', task_index: 2, state: 'queued' })]);
    assert.equal(contents.more, true);
    const source = new Source(3, 1);
    await contents.loadMore(source);
    assert.deepEqual(
      contents.tasks.map(({ task }) => task),
      ['t0', 't1', 't2'],
    );
    assert.equal(contents.entry('t2')?.rows.size, 1);
  });
});

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { BatchCalls, type BatchCallsPorts } from '../../../src/client/toolCalls/batchCalls.ts';
import type { Api } from '../../../src/protocol/api.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { Stream } from '../../support/stream.ts';
import { scored } from '../host/rows.ts';

const RENEW = new Set(['renew']);

/** An in-memory batch: rows, streams, and a log of reads. */
class FakeBatch {
  readonly rows = new Map<string, RolloutRow>();
  readonly reads: string[] = [];
  readonly #streams = new Map<string, Stream>();

  /** An attempt with this many calls of `renew`; the last one fails unless it `passed`. */
  attempt(task: string, calls: number, passed: boolean, rev: number, running = false): RolloutRow {
    const stream = new Stream();
    stream.start();
    for (let n = 1; n <= calls; n++) this.#call(stream, n, !passed && n === calls);
    const row = scored(task, 1, passed, {
      rev,
      last: stream.last,
      ...(running ? { state: 'running', settles: false } : {}),
      progress: { tools: calls === 0 ? [] : ['renew'] },
    });
    this.#streams.set(row.rollout, stream);
    this.rows.set(row.rollout, row);
    return row;
  }

  /** Adds a call to a running rollout. */
  more(row: RolloutRow): RolloutRow {
    const stream = this.#streams.get(row.rollout);
    assert.ok(stream);
    this.#call(stream, 99, false);
    const next = { ...row, last: stream.last, rev: row.rev + 10 };
    this.rows.set(row.rollout, next);
    return next;
  }

  ports(over: Partial<BatchCallsPorts> = {}): BatchCallsPorts {
    const api = {
      allRollouts: () => Readable.from(rows.values()),
      events: (rollout: string, { after = 0 }: { after?: number }) => {
        reads.push(`${rollout}>${after}`);
        const events = streams.get(rollout)?.events.slice(after) ?? [];
        return Promise.resolve({ events, last: events.at(-1)?.seq ?? after });
      },
    } as unknown as Api; // the part in use
    const { rows, reads } = this;
    const streams = this.#streams;
    return { api, follow: () => Promise.resolve(), ...over };
  }

  #call(stream: Stream, n: number, fails: boolean): void {
    const id = `c${n}`;
    stream.model('', [{ id, name: 'renew', arguments: { n } }]);
    stream.toolEnd(
      stream.toolStart(id, 'renew', { n }),
      id,
      'fine',
      fails ? { error: { class: 'tool_error', message: 'no' } } : {},
    );
  }
}

const never = new AbortController().signal;

test('counts the calls of a batch and the share that was read; attempts without tools are not read', async () => {
  const batch = new FakeBatch();
  batch.attempt('t1', 2, true, 1);
  batch.attempt('t2', 3, false, 2);
  batch.attempt('t3', 0, true, 3);
  const calls = new BatchCalls('b1', batch.ports());
  await calls.load(never);
  assert.deepEqual([calls.stats(RENEW).calls, calls.stats(RENEW).errors, [...calls.tools]], [5, 1, ['renew']]);
  assert.deepEqual(calls.shares(RENEW), { passed: { used: 1, of: 2 }, failed: { used: 1, of: 1 } });
  assert.deepEqual([calls.read, batch.reads], [{ attempts: 2, read: 2 }, ['r-t2-1-1>0', 'r-t1-1-1>0']]);
  assert.deepEqual(calls.calls(new Set(['other'])), []);
});

test('reads a limited number of attempts and events, the newest first, and reports that', async () => {
  const batch = new FakeBatch();
  for (let n = 1; n <= 5; n++) batch.attempt(`t${n}`, 1, true, n);
  const few = new BatchCalls('b1', batch.ports({ limits: { attempts: 2, events: 1000 } }));
  await few.load(never);
  assert.deepEqual([few.read, batch.reads.splice(0)], [{ attempts: 5, read: 2 }, ['r-t5-1-1>0', 'r-t4-1-1>0']]);
  assert.deepEqual(few.shares(RENEW).passed, { used: 5, of: 5 }, 'shares are of all');
  const short = new BatchCalls('b1', batch.ports({ limits: { attempts: 100, events: 1 } }));
  await short.load(never);
  assert.deepEqual([short.read, batch.reads], [{ attempts: 5, read: 1 }, ['r-t5-1-1>0']]);
});

test('reports first results of a large batch before all of it was read', async () => {
  const batch = new FakeBatch();
  for (let n = 1; n <= 450; n++) batch.attempt(`t${n}`, 1, true, n);
  const calls = new BatchCalls('b1', batch.ports());
  const counts: number[] = [];
  calls.changed(() => counts.push(calls.read.read));
  await calls.load(never);
  assert.deepEqual([counts.length, counts[0], counts[2], calls.stats(RENEW).calls], [3, 200, 450, 450]);
});

test('keeps the values of only the newest calls, and the newest failed ones', async () => {
  const batch = new FakeBatch();
  batch.attempt('t1', 5, false, 1);
  for (let n = 2; n <= 60; n++) batch.attempt(`t${n}`, 3, true, n);
  const calls = new BatchCalls('b1', batch.ports());
  await calls.load(never);
  const all = calls.calls(RENEW);
  assert.equal(all.length, 182);
  assert.ok(all.filter(({ values }) => values !== undefined).length <= 101);
  assert.ok(all.slice(0, 100).every(({ values }) => values !== undefined));
  assert.ok(all.find(({ error }) => error !== undefined)?.values !== undefined);
});

test('reads only new events of a running batch, until it ends', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const batch = new FakeBatch();
  const old = batch.attempt('t1', 1, true, 1);
  const row = batch.attempt('t2', 1, true, 2, true);
  const followed = Promise.withResolvers<Parameters<BatchCallsPorts['follow']>[0]>();
  const calls = new BatchCalls(
    'b1',
    batch.ports({
      follow: (handlers, signal) =>
        new Promise((resolve) => {
          followed.resolve(handlers);
          signal.addEventListener('abort', () => resolve());
        }),
    }),
  );
  let change = Promise.withResolvers<undefined>();
  calls.changed(() => change.resolve(undefined));
  const next = async (): Promise<void> => {
    t.mock.timers.tick(5_000);
    await change.promise;
    change = Promise.withResolvers();
  };
  let over = false;
  const following = calls.follow(() => over, never);
  const on = await followed.promise;
  await on.rows([old, row], 2);
  on.head(0, 2);
  await next();
  assert.equal(calls.stats(RENEW).calls, 2);
  batch.reads.length = 0;
  const more = batch.more(row);
  await on.rows([more], 12);
  await next();
  assert.deepEqual([calls.stats(RENEW).calls, batch.reads], [3, [`${row.rollout}>${row.last}`]]);
  over = true;
  await on.rows([{ ...batch.more(more), state: 'ended' }], 22);
  on.head(0, 22);
  await following;
  assert.equal(calls.stats(RENEW).calls, 4, 'the events of the last rows were read');
});

test('ends with a failed read, and reports it', async () => {
  const batch = new FakeBatch();
  batch.attempt('t1', 1, true, 1);
  const ports = batch.ports();
  const calls = new BatchCalls('b1', {
    ...ports,
    api: { events: () => Promise.reject(new Error('gone wrong')) } as unknown as Api,
    follow: async (handlers, signal) => {
      await handlers.rows([...batch.rows.values()], 1);
      handlers.head(0, 1);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  });
  await assert.rejects(
    calls.follow(() => false, never),
    /Could not read/,
  );
});

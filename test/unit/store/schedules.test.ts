/** When the store commits what workers append, and when it compresses what has ended. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Appender } from '../../../src/store/logic/appender.ts';
import { Packer } from '../../../src/store/logic/packing.ts';
import type { Dialect, Sql, Transaction } from '../../../src/store/sql/sql.ts';
import type { AppendRequest } from '../../../src/store/store.ts';
import { endOf, event, logLine } from '../../support/trajectories.ts';

/** A database without rows that only counts its reads and commits. */
function countingSql(): { sql: Sql; readonly reads: number; readonly commits: number } {
  const counts = { reads: 0, commits: 0 };
  const nothing = <T>(): Promise<T> => Promise.resolve([] as T); // the callers expect lists
  const dialect: Dialect = {
    ...{ kind: 'sqlite', forUpdate: '', skipLocked: '', anyText: () => '', anyInt: () => '' },
    nextIds: () => undefined,
  };
  const transaction: Transaction = {
    ...{ dialect, now: 0, all: () => nothing(), get: () => Promise.resolve(undefined), run: () => Promise.resolve(0) },
    ...{ insert: () => Promise.resolve(0), update: () => Promise.resolve(), changed: () => undefined },
  };
  const sql: Sql = {
    dialect,
    now: () => Promise.resolve(0),
    read: (_job) => ((counts.reads += 1), nothing()),
    snapshot: (_job) => nothing(),
    isSnapshotOpen: () => false,
    write: (job) => ((counts.commits += 1), job(transaction)),
    watch: () => () => undefined,
    elect: () => Promise.resolve(true),
    exclusively: (_key, work) => work(),
    shrink: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
  return Object.assign(counts, { sql });
}

/** Mocks timers and the clock that goes with them. */
function clock(context: TestContext): (ms: number) => Promise<void> {
  let now = 0;
  context.mock.timers.enable({ apis: ['setTimeout'] });
  context.mock.method(performance, 'now', () => now);
  return async (ms) => {
    now += ms;
    context.mock.timers.tick(ms);
    await setImmediate(); // what a timer began
  };
}

const append = (rollout: string, last: AppendRequest['events'][number]): AppendRequest => ({
  ...{ rollout, epoch: 1, from: 1 },
  events: [last],
});

describe('the store', () => {
  it('commits the end of a rollout at once, with what waits for the next commit', async (context) => {
    const pass = clock(context);
    const counts = countingSql();
    let ends = 0;
    const appender = new Appender(counts.sql, () => (ends += 1));
    const answered: string[] = [];
    const send = (name: string, last = logLine(1)): void =>
      void appender.append(append(name, last)).then(() => answered.push(name));
    await pass(60_000);
    send('first');
    await pass(0);
    assert.deepEqual([answered, counts.commits], [['first'], 1], 'the first one after a pause does not wait');
    send('plain');
    await pass(5);
    assert.deepEqual([answered, counts.commits], [['first'], 1], 'commits have a distance');
    send('last', event(1, 'rollout.end', endOf({})));
    await pass(0);
    assert.deepEqual([answered, counts.commits, ends], [['first', 'plain', 'last'], 2, 1]);
    send('next');
    await pass(9);
    assert.equal(counts.commits, 2, 'the distance begins again');
    await pass(1);
    assert.deepEqual([answered.at(-1), counts.commits, ends], ['next', 3, 1]);
    await appender.close();
  });

  it('compresses when no rollout has ended for a while, at the latest after a minute', async (context) => {
    const pass = clock(context);
    const counts = countingSql();
    const packer = new Packer(counts.sql, 1_000);
    packer.schedule();
    await pass(900);
    packer.schedule();
    await pass(900);
    assert.equal(counts.reads, 0);
    await pass(100);
    assert.equal(counts.reads, 1);
    let ms = 0;
    for (; counts.reads === 1 && ms < 120_000; ms += 500) {
      packer.schedule();
      await pass(500);
    }
    assert.equal(ms, 60_000);
    await packer.close();
  });
});

/** When the store compresses what has ended. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Packer } from '../../../src/store/logic/packing.ts';
import type { Sql } from '../../../src/store/sql/sql.ts';

/** A database that only counts its reads. */
function countingSql(): { sql: Sql; readonly reads: number } {
  const counts = { reads: 0 };
  const nothing = <T>(): Promise<T> => Promise.resolve([] as T); // the callers expect lists
  const sql: Sql = {
    dialect: { kind: 'sqlite', forUpdate: '', skipLocked: '', anyText: () => '', anyInt: () => '' },
    now: () => Promise.resolve(0),
    read: (_job) => ((counts.reads += 1), nothing()),
    write: (_job) => nothing(),
    watch: () => () => undefined,
    elect: () => Promise.resolve(true),
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

describe('the store', () => {
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

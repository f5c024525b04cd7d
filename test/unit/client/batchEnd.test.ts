import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchEnd } from '../../../src/client/batchEnd.ts';
import type { TraceEvent } from '../../../src/trace/schema.ts';

const event = (kind: 'batch.start' | 'batch.end'): TraceEvent =>
  ({ v: 1, seq: 1, at: 0, kind, data: {} }) as unknown as TraceEvent;
const control = (verb: string): TraceEvent => ({
  v: 1,
  seq: 1,
  at: 0,
  kind: 'control',
  data: { command: 'c', verb, by: 'me', args: {} },
});

/** Returns whether following ends after these events, where the batch itself says so. */
async function ends(events: readonly TraceEvent[], ended: boolean): Promise<boolean> {
  let over = false;
  const end = new BatchEnd(
    () => Promise.resolve(ended),
    () => {
      over = true;
    },
  );
  end.add(events);
  await end.head();
  assert.equal(end.reached, over);
  return over;
}

const [start, stop] = [event('batch.start'), event('batch.end')];

test('a followed batch ends at its end, despite later events', async () => {
  assert.equal(await ends([start], false), false);
  assert.equal(await ends([start, control('retry')], false), false);
  assert.equal(await ends([start, stop], true), true);
  assert.equal(await ends([start, stop, control('pause')], true), true);
});

test('a retry continues after the end, unless it had nothing to do', async () => {
  assert.equal(await ends([start, stop, control('retry')], true), true);
  assert.equal(await ends([start, stop, control('retry')], false), false);
  assert.equal(await ends([start, stop, control('retry'), stop], false), true);
});

test('a batch that is followed from after its end has ended', async () => {
  for (const ended of [true, false]) {
    let over = false;
    const end = new BatchEnd(
      () => Promise.resolve(ended),
      () => {
        over = true;
      },
      false,
    );
    await end.head();
    assert.equal(over, ended);
  }
});

test('a batch that cannot be read is still followed', async () => {
  const end = new BatchEnd(
    () => Promise.reject(new Error('no server')),
    () => assert.fail('not ended'),
  );
  end.add([stop, control('retry')]);
  await end.head();
  assert.equal(end.reached, false);
});

import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { sizeOf } from '../../../src/executor/local/sizing.ts';
import { lineageAt } from '../../../src/server/batches/forks.ts';
import { reasonToStop } from '../../../src/server/batches/stopRules.ts';
import { Changes } from '../../../src/server/changes.ts';
import { Deltas } from '../../../src/server/clients/deltas.ts';
import { Flow } from '../../../src/server/clients/flow.ts';
import { Idle } from '../../../src/server/process/idle.ts';
import { StreamReader } from '../../../src/server/streamReader.ts';
import { Throttle } from '../../../src/server/throttle.ts';

test('flow control counts what was not acknowledged', () => {
  const flow = new Flow();
  flow.sent(3, 100);
  flow.sent(7, 50);
  flow.acknowledge(5);
  assert.equal(flow.unacknowledged, 50);
  flow.acknowledge(7);
  flow.acknowledge(7);
  assert.equal(flow.unacknowledged, 0);
});

describe('a throttle', () => {
  test('runs immediately, then at most once per interval, never concurrently, and misses nothing', async () => {
    const time = manualTime();
    try {
      let runs = 0;
      let release: () => void = () => undefined;
      const throttle = new Throttle(
        20,
        () => {
          runs += 1;
          return new Promise((resolve) => (release = resolve));
        },
        assert.ifError,
      );
      throttle.request();
      assert.equal(runs, 1);
      throttle.request();
      throttle.request(true);
      assert.equal(runs, 1);
      release();
      await time.pass(0);
      assert.equal(runs, 2, 'requested immediately: no interval');
      throttle.request();
      release();
      await time.pass(19);
      assert.equal(runs, 2);
      await time.pass(1);
      assert.equal(runs, 3);
      throttle.close();
      throttle.request(true);
      assert.equal(runs, 3);
    } finally {
      time.end();
    }
  });

  test('continues after a failure', async () => {
    const failed: unknown[] = [];
    let runs = 0;
    const throttle = new Throttle(
      0,
      () => (runs++ === 0 ? Promise.reject(new Error('once')) : Promise.resolve()),
      (error) => failed.push(error),
    );
    throttle.request();
    throttle.request();
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.deepEqual([runs, failed.length], [2, 1]);
    throttle.close();
  });
});

test('changes reach those that wait for an ID, and everybody when anything may have changed', () => {
  let notify: (ids: readonly string[]) => void = () => undefined;
  const changes = new Changes({
    watch: (changed) => {
      notify = changed;
      return () => undefined;
    },
  });
  const heard: string[] = [];
  const end = changes.on('a', () => heard.push('a'));
  changes.on('b', () => heard.push('b'));
  changes.onAny((id) => heard.push(`any ${String(id)}`));
  notify(['a', 'c']);
  assert.deepEqual(heard.splice(0), ['a', 'any a', 'any c']);
  notify([]);
  assert.deepEqual(heard.splice(0), ['a', 'b', 'any undefined']);
  end();
  notify(['a']);
  assert.deepEqual(heard, ['any a']);
});

describe('streams with a lineage', () => {
  const streams: Record<string, number[]> = { r1: [1, 2, 3, 4, 5], r2: [4, 5, 6], r3: [6, 7] };
  const store = {
    read: (stream: string, after: number, maxBytes: number) =>
      Promise.resolve(
        streams[stream]!.filter((seq) => seq > after)
          .slice(0, Math.max(1, Math.floor(maxBytes / 10)))
          .map((seq) => ({ seq, body: `${stream}:${seq}` })),
      ),
  };
  const reader = new StreamReader(store, 'r3', [
    { rollout: 'r1', to: 3 },
    { rollout: 'r2', to: 5 },
  ]);

  test('read through all of it, in chunks of any size', async () => {
    for (const bytes of [10, 20, 1000]) {
      const bodies: string[] = [];
      for await (const chunk of reader.all(0, 7, bytes)) bodies.push(...chunk);
      assert.deepEqual(bodies, ['r1:1', 'r1:2', 'r1:3', 'r2:4', 'r2:5', 'r3:6', 'r3:7']);
    }
  });

  test('begin and end anywhere', async () => {
    assert.deepEqual((await reader.read(2, 1000)).bodies, ['r1:3']);
    assert.deepEqual((await reader.read(3, 1000, 4)).bodies, ['r2:4']);
    assert.deepEqual(await reader.read(7, 1000), { bodies: [], last: 7, chars: 0, more: false });
    assert.deepEqual(await reader.read(5, 1000, 5), { bodies: [], last: 5, chars: 0, more: false });
  });

  test('include a fork of a fork', () => {
    const child = { row: { rollout: 'r2' }, lineage: [{ rollout: 'r1', to: 3 }] };
    assert.deepEqual(lineageAt(child, 5), [
      { rollout: 'r1', to: 3 },
      { rollout: 'r2', to: 5 },
    ]);
    assert.deepEqual(lineageAt(child, 3), [{ rollout: 'r1', to: 3 }]);
    assert.deepEqual(lineageAt(child, 2), [{ rollout: 'r1', to: 2 }]);
    assert.deepEqual(lineageAt(child, 0), []);
  });
});

test('stop rules end a task or a batch', () => {
  const progress = { settled: 20, failed: 10, tokens: 99, satisfied: [] };
  assert.match(reasonToStop({ failures: 0.5 }, progress)!, /10 of 20 settled attempts did not pass \(limit 50%\)/);
  assert.equal(reasonToStop({ failures: 0.5 }, { ...progress, settled: 19 }), undefined);
  assert.equal(reasonToStop({ failures: 0.51 }, progress), undefined);
  assert.equal(reasonToStop({ failures: 0 }, { ...progress, failed: 0 }), undefined);
  assert.match(reasonToStop({ tokens: 99 }, progress)!, /99 tokens/);
  assert.equal(reasonToStop({ tokens: 100, passes_per_task: 1 }, progress), undefined);
});

test('live text is kept while a span is open, and only while somebody listens', () => {
  const switches: [string, boolean][] = [];
  const deltas = new Deltas((rollout, on) => switches.push([rollout, on]));
  deltas.receive('r1', 3, 0, 'lost');
  const heard: string[] = [];
  const end = deltas.listen('r1', { delta: (span, offset, text) => heard.push(`${span}:${offset}:${text}`) });
  deltas.receive('r1', 3, 0, 'It is ');
  deltas.receive('r1', 3, 6, 'due.');
  deltas.receive('r1', 3, 3, 'was');
  deltas.receive('r1', 4, 9, 'a gap');
  assert.deepEqual(deltas.open('r1'), [{ span: 3, text: 'It was' }]);
  assert.equal(heard.length, 4);
  deltas.ended('r1', 3);
  assert.deepEqual(deltas.open('r1'), []);
  end();
  end();
  assert.deepEqual(switches, [
    ['r1', true],
    ['r1', false],
  ]);
});

test('the number of workers depends on cores and concurrency', () => {
  assert.deepEqual(sizeOf(8, 8, 4), { workers: 1, slots: 8 });
  assert.deepEqual(sizeOf(256, 1000, 8), { workers: 4, slots: 64 });
  assert.deepEqual(sizeOf(256, 1000, 2), { workers: 2, slots: 128 });
  assert.deepEqual(sizeOf(256, 10, 8), { workers: 1, slots: 64 });
  assert.deepEqual(sizeOf('auto', 1000, 2), { workers: 2, slots: 64 });
  assert.deepEqual(sizeOf('auto', 1, 0), { workers: 1, slots: 64 });
});

test('an idle server ends once there were no clients and no work for the whole period', async () => {
  const time = manualTime();
  try {
    let busy = true;
    let ended = 0;
    const idle = new Idle({
      idleMs: 1_200,
      busy: () => Promise.resolve(busy),
      end: () => (ended += 1),
      failed: assert.ifError,
    });
    const leave = idle.enter();
    busy = false;
    await time.pass(3_000);
    assert.equal(ended, 0);
    leave();
    leave();
    await time.pass(1_000);
    assert.equal(ended, 0);
    busy = true;
    await time.pass(200);
    busy = false;
    await time.pass(1_100);
    assert.equal(ended, 0, 'work restarts the timer');
    await time.pass(300);
    assert.equal(ended, 1);
  } finally {
    time.end();
  }
});

/** Timers and the monotonic clock, advanced by hand. */
function manualTime(): { pass(ms: number): Promise<void>; end(): void } {
  let now = 0;
  mock.timers.enable({ apis: ['setTimeout'] });
  const clock = mock.method(performance, 'now', () => now);
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    pass: async (ms) => {
      await settle();
      for (let passed = 0; passed < ms; passed += 1) {
        now += 1;
        mock.timers.tick(1);
        if (passed % 50 === 49 || passed === ms - 1) await settle();
      }
    },
    end: () => {
      mock.timers.reset();
      clock.mock.restore();
    },
  };
}

/** Calls beyond what an endpoint takes, by which autoscalers add replicas. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EndpointLimit } from '../../../src/server/pressure/limit.ts';
import { excessCalls, loadRatio } from '../../../src/server/pressure/scaling.ts';

const full = { running: 8, waiting: 5 };

/** Has found that its endpoint takes fewer than 32 calls. */
function shown(): EndpointLimit {
  const limit = new EndpointLimit();
  for (let now = 0; now <= 60_000; now += 3_000) limit.load(full, now);
  return limit;
}

test('calls beyond the permits of an endpoint that has shown its limit are in excess', () => {
  const limit = shown();
  const permits = limit.permits(60_000);
  assert.ok(permits < 16, `${permits} permits`);
  assert.equal(excessCalls({ limit, load: full }, 40, 60_000), 40 - permits);
  assert.equal(excessCalls({ limit, load: full }, permits - 1, 60_000), 0);
});

test('a batch that begins, an endpoint that is down, and calls for another one are no reason for a replica', () => {
  assert.equal(excessCalls({ limit: new EndpointLimit(), load: full }, 500, 0), 0, 'its limit is not known');
  const limit = shown();
  assert.equal(excessCalls({ limit, load: { running: 1, waiting: 0 } }, 40, 60_000), 0, 'it has room');
  assert.equal(excessCalls({ limit, load: undefined }, 40, 60_000), 0, 'it has no metrics');
  limit.refused('down', 60_000);
  assert.equal(excessCalls({ limit, load: full }, 40, 60_100), 0);
});

test('the load of replicas adds up to how many of them the calls need', () => {
  const limit = shown();
  const replica = (running: number, of = limit) => ({ limit: of, load: { running, waiting: 0 } });
  const needed = (...replicas: ReturnType<typeof replica>[]): number =>
    Math.ceil(replicas.reduce((sum, each) => sum + loadRatio(each, replicas)!, 0));
  const fresh = new EndpointLimit(); // takes a part of the calls, so it shows no limit
  assert.equal(needed(replica(8)), 1);
  assert.equal(needed(replica(5), replica(4, fresh)), 2, 'one could not take the calls of both');
  assert.equal(needed(replica(4), replica(4, fresh)), 1);
  assert.equal(needed(replica(5), replica(5, fresh), replica(6, fresh)), 2, 'parts of two replicas are not three');
  assert.equal(needed(replica(24), replica(0, fresh)), 1, 'it adds none: that is what waiting calls do');
  assert.equal(loadRatio(replica(3, fresh), [replica(3, fresh)]), undefined, 'nobody knows what it takes');
  assert.equal(loadRatio({ load: undefined }, [replica(3)]), undefined, 'it has no metrics');
});

test('a replica takes what its engine runs while calls wait, whatever its limit', () => {
  const limit = new EndpointLimit();
  const ratio = (running: number): number | undefined =>
    loadRatio({ load: { running, waiting: 0 } }, [{ limit, load }]);
  // Enough wait to add a replica, and too few to lower the limit.
  const load = { running: 64, waiting: 6 };
  limit.load(load, 0);
  assert.equal(ratio(32), undefined, 'a burst is no limit');
  for (let now = 3_000; now <= 60_000; now += 3_000) {
    limit.ok(now, 70, 64);
    limit.load(load, now);
  }
  assert.ok(limit.permits(60_000) > 70, 'the limit holds no call back');
  assert.equal(ratio(35), 0.546, 'both halves of the calls are more than one replica takes');
  limit.refused('down', 61_000);
  assert.equal(ratio(32), 0.5, 'an outage does not make the engine smaller');
  limit.load({ running: 40, waiting: 0, kvCache: 0.97 }, 70_000);
  assert.equal(ratio(40), 1, 'long calls fill its cache');
  limit.load({ running: 50, waiting: 0 }, 73_000);
  assert.equal(ratio(50), 1, 'it takes more again');
  limit.load({ running: 64, waiting: 0 }, 76_000);
  assert.equal(ratio(50), undefined, 'far more: it had a burst to read');
});

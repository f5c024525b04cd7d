/** Calls beyond what an endpoint takes, by which autoscalers add replicas. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { excessCalls } from '../../../src/server/pressure/excess.ts';
import { EndpointLimit } from '../../../src/server/pressure/limit.ts';

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

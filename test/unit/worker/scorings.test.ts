import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { PlainFrame } from '../../../src/worker/outlet.ts';
import { Scorings } from '../../../src/worker/run/scorings.ts';

it('a request for an expected answer is repeated after a reconnection until it is answered', async () => {
  const sent: PlainFrame[] = [];
  const scorings = new Scorings((frame) => sent.push(frame) > 0);
  const stop = new AbortController();
  const answer = scorings.ask('r1', 2, stop.signal);
  const dropped = scorings.ask('r2', 1, stop.signal);
  scorings.repeat();
  scorings.answered('r1', 1, 'of an older epoch');
  scorings.answered('r1', 2, 'blue');
  assert.equal(await answer, 'blue');
  stop.abort();
  await assert.rejects(dropped, { code: 'cancelled' });
  scorings.repeat();
  const frame = { type: 'scoring', rollout: 'r1', epoch: 2 };
  assert.equal(sent.filter((one) => isDeepStrictEqual(one, frame)).length, 2);
  assert.equal(sent.length, 4);
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { PlainFrame } from '../../../src/worker/outlet.ts';
import { Scorings } from '../../../src/worker/run/scorings.ts';

it('a request for what only scoring may know is repeated after a reconnection until it is answered', async () => {
  const sent: PlainFrame[] = [];
  const scorings = new Scorings((frame) => sent.push(frame) > 0);
  const stop = new AbortController();
  const answer = scorings.ask('r1', 2, stop.signal);
  const dropped = scorings.ask('r2', 1, stop.signal);
  scorings.repeat();
  const reply = { type: 'scoring', rollout: 'r1' } as const;
  scorings.answered({ ...reply, epoch: 1, answer: 'of an older epoch' });
  scorings.answered({ ...reply, epoch: 2, answer: 'blue', meta: { steps: 'Mix.' } });
  const { answer: expected, meta } = await answer;
  assert.deepEqual([expected, meta], ['blue', { steps: 'Mix.' }]);
  stop.abort();
  await assert.rejects(dropped, { code: 'cancelled' });
  scorings.repeat();
  const frame = { type: 'scoring', rollout: 'r1', epoch: 2 };
  assert.equal(sent.filter((one) => isDeepStrictEqual(one, frame)).length, 2);
  assert.equal(sent.length, 4);
});

import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Permit } from '../../../src/model/permits.ts';
import { PermitGate } from '../../../src/model/permits.ts';

const never = new AbortController().signal;
const A = 'http://a/v1';
const B = 'http://b/v1';
let gate = new PermitGate();

function take(count: number, endpoints = [A]): Permit[] {
  return Array.from({ length: count }, () => gate.tryAcquire(endpoints)).filter((permit) => permit !== undefined);
}

describe('PermitGate', () => {
  afterEach(() => gate.close());

  it('lets all calls through until the server sets a limit', async () => {
    gate = new PermitGate();
    assert.equal(take(500).length, 500);
    gate = new PermitGate();
    gate.setPermits({ [A]: 2 });
    const [first] = take(3);
    assert.equal(take(1).length, 0);
    const order: number[] = [];
    const waiting = [1, 2].map((n) => gate.acquire(() => [A], never).then(() => order.push(n)));
    first?.release();
    await waiting[0];
    assert.deepEqual(order, [1]);
    gate.setPermits({ [A]: 3 });
    await waiting[1];
    assert.deepEqual(order, [1, 2]);
  });

  it('starts no call while others have an endpoint, and says why, without taking it for a failed one', async () => {
    gate = new PermitGate();
    gate.setPermits({ [A]: 2, [B]: 1 });
    const [running] = take(2);
    const reasons: unknown[] = [];
    gate.watchPauses(() => reasons.push(gate.yields(A)));
    gate.setPermits({ [A]: 0, [B]: 1 }, { [A]: 'priority' });
    assert.equal(take(1).length, 0);
    running?.release();
    assert.equal(take(1).length, 0, 'also when a call ends');
    assert.deepEqual([gate.yields(A), gate.troubled(A)], ['priority', false]);
    assert.equal(gate.tryAcquire([A, B])?.endpoint, B, 'another endpoint can be called');
    const waiting = gate.acquire(() => [A], never);
    assert.equal(gate.waiting, 1);
    gate.setPermits({ [A]: 2, [B]: 1 });
    assert.equal((await waiting).endpoint, A);
    assert.deepEqual(reasons, ['priority', undefined]);
    assert.equal(gate.takePeak(), 3, 'the second of A, that of B, and the one that waited');
    assert.equal(gate.takePeak(), 3, 'those still run');
  });

  it('probes with one call after a failure, and doubles with each answer', () => {
    let now = 0;
    gate = new PermitGate({ now: () => now, random: () => 0.5 });
    const before = take(10);
    before[0]?.failed();
    assert.equal(gate.troubled(A), true);
    assert.equal(take(1).length, 0, 'not before its back-off');
    now = 100;
    const probe = take(5);
    assert.equal(probe.length, 1, 'one probe at a time');
    before[1]?.failed();
    assert.equal(take(1).length, 0, 'a failure of a call from before changes nothing');
    probe[0]?.answered();
    assert.equal(take(5).length, 1);
    probe[0]?.release();
    assert.equal(take(5).length, 1);
  });

  it('waits longer after each failed probe, and as long as the endpoint says', () => {
    let now = 0;
    gate = new PermitGate({ now: () => now, random: () => 0.5 });
    take(1)[0]?.failed();
    now = 100;
    take(1)[0]?.failed();
    now = 299;
    assert.equal(take(1).length, 0);
    now = 300;
    take(1)[0]?.failed(60_000);
    now = 60_299;
    assert.equal(take(1).length, 0);
    now = 60_300;
    assert.equal(take(1).length, 1);
  });

  it('is healthy again after enough answers', () => {
    let now = 0;
    gate = new PermitGate({ now: () => now });
    gate.setPermits({ [A]: 4 });
    const [lost] = take(1);
    lost?.failed();
    lost?.release();
    now = 10_000;
    for (let n = 0; n < 3; n++) {
      const [permit] = take(1);
      permit?.answered();
      permit?.release();
    }
    assert.equal(gate.troubled(A), false);
    assert.equal(take(9).length, 4);
  });

  it('recovers in proportion to its part in what the server divides', () => {
    let now = 0;
    const running = (part: number): number[] => {
      gate.close();
      gate = new PermitGate({ now: () => now });
      gate.setPermits({ [A]: part });
      const [lost] = take(1);
      lost?.failed();
      lost?.release();
      now += 10_000;
      const [probe] = take(1);
      const before = take(1).length;
      probe?.answered();
      probe?.release();
      const round = take(100);
      for (const permit of round) {
        permit.answered();
        permit.release();
      }
      return [before, round.length, take(100).length];
    };
    assert.deepEqual(
      [running(32), running(16)],
      [
        [0, 16, 32],
        [0, 8, 16],
      ],
    );
  });

  it('waits before it probes what the server reports to have failed, longer with a smaller part', () => {
    let now = 0;
    const first = (part: number): number => {
      gate.close();
      gate = new PermitGate({ now: () => now, random: () => 0.5 });
      gate.setPermits({ [A]: part });
      gate.setPermits({ [A]: 0 });
      const from = now;
      while (take(1).length === 0) now += 50;
      return now - from;
    };
    assert.deepEqual([64, 8, 4, 1].map(first), [100, 100, 200, 800]);
  });

  it('probes when the server grants no permits, and uses new ones when they arrive', async () => {
    let now = 0;
    gate = new PermitGate({ now: () => now });
    gate.setPermits({ [A]: 0 });
    now = 1_000;
    const [probe] = take(3);
    const waiting = gate.acquire(() => [A], never);
    probe?.answered();
    (await waiting).answered();
    gate.setPermits({ [A]: 4 });
    assert.equal(gate.troubled(A), false);
  });

  it('switches to another replica while the first has failed, and waits for a healthy one that is full', () => {
    let now = 0;
    gate = new PermitGate({ now: () => now });
    gate.setPermits({ [A]: 1, [B]: 9 });
    const [first] = take(1, [A, B]);
    assert.equal(first?.endpoint, A);
    assert.equal(take(1, [A, B]).length, 0);
    first.failed();
    first.release();
    assert.equal(take(1, [A, B])[0]?.endpoint, B);
    now = 60_000;
    assert.equal(take(1, [A, B])[0]?.endpoint, A, 'the probe');
    assert.equal(take(1, [A, B])[0]?.endpoint, B);
  });

  it('moves waiting calls to another replica when theirs fails', async () => {
    gate = new PermitGate();
    gate.setPermits({ [A]: 1 });
    const [held] = take(1);
    const waiting = gate.acquire(() => [A, B], never);
    held?.failed();
    assert.equal((await waiting).endpoint, B);
  });

  it('forgets a cancelled waiter', async () => {
    gate = new PermitGate();
    gate.setPermits({ [A]: 1 });
    const [held] = take(1);
    const abort = new AbortController();
    const waiting = gate.acquire(() => [A], abort.signal);
    abort.abort();
    await assert.rejects(waiting, { code: 'cancelled' });
    assert.equal(gate.waiting, 0);
    held?.release();
    assert.equal(take(1).length, 1);
  });

  it('starts the next probe by itself, after its back-off', async () => {
    gate = new PermitGate({ random: () => 0 });
    take(1)[0]?.failed();
    const began = performance.now();
    await gate.acquire(() => [A], never);
    assert.ok(performance.now() - began >= 45);
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { dividePermits, type PermitClaim } from '../../../src/server/pressure/shares.ts';
import { type Claim, divide, divideByOwner, roundParts } from '../../../src/server/shares/divide.ts';

function claim(user: string, demand: number, some: Partial<PermitClaim> = {}): PermitClaim {
  return { priority: 0, queue: undefined, queueWeight: 1, user, userWeight: 1, demand, blocked: false, ...some };
}

const three = (demand: number): PermitClaim[] => [
  claim('ann', demand, { userWeight: 2 }),
  claim('bob', demand),
  claim('eve', demand),
];

/** What each claim got over many turns. */
function sums(permits: number, claims: readonly PermitClaim[], turns: number): number[] {
  const total = claims.map(() => 0);
  for (let turn = 0; turn < turns; turn++)
    dividePermits(permits, claims, turn).permits.forEach((value, index) => {
      total[index] = (total[index] ?? 0) + value;
    });
  return total;
}

describe('division', () => {
  test('is by weight, and exact where it comes out even', () => {
    assert.deepEqual(divide(4, three(100)), [2, 1, 1]);
    assert.deepEqual(divide(4, three(100)), divide(4, three(100)), 'it depends on nothing else');
  });

  test('gives what one cannot use to the others, by their weights', () => {
    assert.deepEqual(divide(12, [claim('ann', 2, { userWeight: 2 }), claim('bob', 100), claim('eve', 100)]), [2, 5, 5]);
    assert.deepEqual(divide(12, [claim('ann', 100, { userWeight: 2 }), claim('bob', 1), claim('eve', 0)]), [11, 1, 0]);
    assert.deepEqual(divide(12, three(1)), [1, 1, 1], 'nobody gets more than needed');
  });

  test('is by priority first', () => {
    const claims = [claim('ann', 100), claim('bob', 3, { priority: 5 }), claim('eve', 4, { priority: -1 })];
    assert.deepEqual(divide(10, claims), [7, 3, 0]);
    assert.deepEqual(divide(3, claims), [0, 3, 0]);
  });

  test('is by queue, then by user', () => {
    const of = (queue: string, queueWeight: number, user: string, userWeight = 1): Claim =>
      claim(user, 100, { queue, queueWeight, userWeight });
    const claims = [of('research', 2, 'ann', 3), of('research', 2, 'bob'), of('default', 1, 'eve')];
    assert.deepEqual(divide(12, claims), [6, 2, 4]);
    // A queue with one user gets no more because that user has a weight.
    assert.deepEqual(divide(12, [of('research', 1, 'ann', 9), of('default', 1, 'eve')]), [6, 6]);
  });

  test('is equal for what one owner runs', () => {
    assert.deepEqual(divide(9, [claim('ann', 10_000), claim('ann', 4), claim('ann', 50)]), [3, 3, 3]);
    assert.deepEqual(divide(10, [claim('ann', 10_000), claim('ann', 2)]), [8, 2]);
  });

  test('is linear enough for a thousand workers', () => {
    const claims = Array.from({ length: 1_000 }, (_, index) => claim(`u${index % 3}`, 32, { priority: index % 2 }));
    const began = performance.now();
    for (let turn = 0; turn < 20; turn++) dividePermits(4_096, claims, turn);
    const each = (performance.now() - began) / 20;
    assert.ok(each < 50, `${each.toFixed(1)} ms`);
  });

  test('knows owners in an order of their own', () => {
    const keys = divideByOwner(3, [claim('eve', 1), claim('ann', 1), claim('bob', 1, { priority: 1 })]).map(
      ({ key }) => key,
    );
    assert.deepEqual(keys, ['[1,"","bob"]', '[0,"","ann"]', '[0,"","eve"]']);
  });
});

describe('rounding', () => {
  test('adds up in every turn, and is exact over many', () => {
    const parts = [1.5, 0.75, 0.75];
    const total = [0, 0, 0];
    const turns = 1_000;
    for (let turn = 0; turn < turns; turn++) {
      const rounded = roundParts(parts, turn);
      assert.equal(
        rounded.reduce((sum, value) => sum + value, 0),
        3,
      );
      rounded.forEach((value, index) => {
        assert.ok(Math.abs(value - (parts[index] ?? 0)) < 1);
        total[index] = (total[index] ?? 0) + value;
      });
    }
    total.forEach((value, index) => {
      assert.ok(Math.abs(value / turns - (parts[index] ?? 0)) < 0.005, `${value}`);
    });
  });

  test('does not lose anything to the inexact sums of fractions', () => {
    for (let turn = 0; turn < 200; turn++) {
      const rounded = roundParts(
        Array.from({ length: 7 }, () => 10 / 7),
        turn,
      );
      assert.equal(
        rounded.reduce((sum, value) => sum + value, 0),
        10,
      );
    }
  });
});

describe('permits', () => {
  test('are divided by weight in each turn where that comes out even, and over turns elsewhere', () => {
    assert.deepEqual(sums(4, three(9), 100), [200, 100, 100]);
    const uneven = sums(3, three(9), 1_000);
    for (const [index, expected] of [1_500, 750, 750].entries())
      assert.ok(Math.abs((uneven[index] ?? 0) - expected) <= 4, String(uneven));
    // One permit for two users of equal weight.
    assert.deepEqual(sums(1, [claim('ann', 5), claim('bob', 5)], 1_000), [500, 500]);
  });

  test('are divided among the sessions of an owner by what they can use', () => {
    const claims = [claim('ann', 30), claim('ann', 10), claim('bob', 50)];
    assert.deepEqual(dividePermits(40, claims, 0).permits, [14, 6, 20]);
  });

  test('wait, with a reason, while rollouts of a higher priority use all', () => {
    const claims = [claim('ann', 10), claim('ann', 10), claim('bob', 40, { priority: 1 })];
    assert.deepEqual(dividePermits(32, claims, 0), { permits: [0, 0, 32], waits: ['priority', 'priority', undefined] });
    // What is left goes to the lower priority.
    const { permits, waits } = dividePermits(45, claims, 0);
    assert.deepEqual(
      [permits, waits],
      [
        [3, 2, 40],
        [undefined, undefined, undefined],
      ],
    );
    // Once nobody needs them, nothing waits.
    const idle = [claim('ann', 10), claim('bob', 0, { priority: 1 })];
    assert.deepEqual(dividePermits(32, idle, 0).waits, [undefined, undefined]);
  });

  test('are not for those over a limit on tokens, and the others get them', () => {
    const claims = [claim('ann', 10, { blocked: true }), claim('bob', 10), claim('eve', 10)];
    const { permits, waits } = dividePermits(10, claims, 0);
    assert.deepEqual(
      [permits, waits],
      [
        [0, 5, 5],
        ['tokens', undefined, undefined],
      ],
    );
  });

  test('nobody waits for others where nobody else is, or where there is enough', () => {
    assert.deepEqual(dividePermits(1, [claim('ann', 4), claim('ann', 4)], 0).waits, [undefined, undefined]);
    const plenty = dividePermits(100, three(4), 0);
    assert.deepEqual(plenty.waits, [undefined, undefined, undefined]);
    assert.equal(
      plenty.permits.reduce((sum, value) => sum + value, 0),
      100,
    );
    assert.ok(
      dividePermits(0, three(4), 0).waits.every((reason) => reason === undefined),
      'the endpoint is down',
    );
  });
});

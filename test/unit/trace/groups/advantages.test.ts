import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { advantagesOf, ESTIMATORS, type Estimator } from '../../../../src/trace/groups/advantages.ts';
import { Random } from '../../../support/random.ts';

/** Advantages must be equal but for rounding. */
function assertNear(actual: readonly (number | null)[], expected: readonly (number | null)[], within = 1e-9): void {
  assert.equal(actual.length, expected.length);
  for (const [index, value] of expected.entries()) {
    const own = actual[index] ?? null;
    if (value === null || own === null) assert.equal(own, value);
    else assert.ok(Math.abs(own - value) <= within, `${index}: ${own} is not ${value}`);
  }
}

/** Some of the rewards of a random group are missing. */
function randomGroup(random: Random): (number | null)[] {
  const size = 1 + Math.floor(random.next() * 12);
  return Array.from({ length: size }, () =>
    random.next() < 0.2 ? null : random.next() < 0.5 ? Math.round(random.next()) : random.next() * 4 - 2,
  );
}

function scoredOf(rewards: readonly (number | null)[]): number[] {
  return rewards.flatMap((reward) => reward ?? []);
}

void describe('advantages of a group', () => {
  const golden: Readonly<Record<Estimator, readonly number[]>> = {
    // The mean is 0.25 and the spread 0.5: 0.75 / 0.5001 and -0.25 / 0.5001.
    ms_swift: [1.499_700_06, -0.499_900_02, -0.499_900_02, -0.499_900_02],
    trl: [1.499_700_06, -0.499_900_02, -0.499_900_02, -0.499_900_02],
    verl: [1.499_997, -0.499_999, -0.499_999, -0.499_999],
    dr_grpo: [0.75, -0.25, -0.25, -0.25],
    rloo: [1, -1 / 3, -1 / 3, -1 / 3],
    leave_one_out: [1, -1 / 3, -1 / 3, -1 / 3],
  };

  for (const estimator of ESTIMATORS) {
    void it(`gives one success of four what ${estimator} gives it`, () => {
      assertNear(advantagesOf(estimator, [1, 0, 0, 0]), golden[estimator], 1e-7);
    });

    void it(`${estimator} leaves excluded members out of the statistics`, () => {
      const [a = null, b = null, c = null, d = null] = golden[estimator];
      assertNear(advantagesOf(estimator, [null, 1, 0, Number.NaN, 0, 0]), [null, a, b, null, c, d], 1e-7);
    });

    void it(`${estimator} gives nothing where all rewards are equal`, () => {
      // The sum of three times 0.1 is not 0.3, so a mean is not exactly 0.1.
      for (const reward of [0, 1, 0.1, -3.3])
        assert.deepEqual(advantagesOf(estimator, [reward, reward, null, reward]), [0, 0, null, 0]);
    });

    void it(`${estimator} accepts groups without scored members`, () => {
      assert.deepEqual(advantagesOf(estimator, []), []);
      assert.deepEqual(advantagesOf(estimator, [null, null]), [null, null]);
    });

    void it(`the advantages of ${estimator} sum to 0, and adding to all rewards changes none`, () => {
      const random = new Random(24);
      for (let n = 0; n < 500; n++) {
        const rewards = randomGroup(random);
        if (estimator === 'verl' && scoredOf(rewards).length === 1) continue;
        const advantages = advantagesOf(estimator, rewards);
        const sum = scoredOf(advantages).reduce((a, b) => a + b, 0);
        assert.ok(Math.abs(sum) < 1e-9, `${String(sum)} for ${JSON.stringify(rewards)}`);
        const by = random.next() * 10 - 5;
        const shifted = rewards.map((reward) => (reward === null ? null : reward + by));
        assertNear(advantagesOf(estimator, shifted), advantages, 1e-6);
        // A better member never gets less than a worse one.
        const order = scoredOf(rewards).map((reward, index) => [reward, scoredOf(advantages)[index] ?? 0] as const);
        const sorted = order.toSorted(([a], [b]) => a - b);
        for (const [index, [, own]] of sorted.slice(1).entries()) assert.ok(own >= (sorted[index]?.[1] ?? own) - 1e-12);
      }
    });
  }

  void it('only verl learns from a single member', () => {
    for (const estimator of ESTIMATORS)
      assertNear(advantagesOf(estimator, [null, 0.5]), [null, estimator === 'verl' ? 0.5 / (1 + 1e-6) : 0]);
  });

  void it('leaving one out equals RLOO', () => {
    const random = new Random(7);
    for (let n = 0; n < 200; n++) {
      const rewards = randomGroup(random);
      assertNear(advantagesOf('leave_one_out', rewards), advantagesOf('rloo', rewards));
    }
  });
});

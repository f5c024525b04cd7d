// Shares of a model that refuses calls, with simulated workers and a simulated server in virtual time. What happens at
// the same time has another order for each seed, and what is compared are averages over several: the same in each run.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { simulate } from '../../support/refusingModel.ts';

/** What the owner of twice the weight is entitled to. */
const PART = 2 / 3;
const SEEDS = [1, 2, 3, 4].map((seed) => seed * 7_919);
/** Numbers of workers of the two owners. */
const SHAPES = [
  [1, 1],
  [4, 4],
  [2, 8],
  [16, 16],
] as const;
type Model = Pick<Parameters<typeof simulate>[0], 'capacity' | 'callMs' | 'ms' | 'from'>;

interface Measured {
  /** How far parts of calls are from what the owner is entitled to, on average. */
  readonly deviation: number;
  readonly made: number;
  readonly refused: number;
}

function measure([heavy, light]: (typeof SHAPES)[number], model: Model): Measured {
  const owners = {
    heavy: { weight: 2, workers: heavy, rollouts: Math.ceil(256 / heavy) },
    light: { weight: 1, workers: light, rollouts: Math.ceil(256 / light) },
  };
  const runs = SEEDS.map((seed) => simulate({ owners, ...model, seed }));
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const made = runs.map(({ calls }) => sum(Object.values(calls)));
  const deviations = runs.map(({ calls }, run) => Math.abs((calls['heavy'] ?? 0) / (made[run] ?? 1) - PART));
  return {
    deviation: sum(deviations) / runs.length,
    made: sum(made),
    refused: sum(runs.map(({ refused }) => refused)),
  };
}

/** Returns the average of all shapes. */
function deviationOf(model: Model): number {
  return SHAPES.reduce((sum, shape) => sum + measure(shape, model).deviation, 0) / SHAPES.length;
}

describe('shares of an endpoint that recovers', () => {
  test('hold within ten seconds after an outage', () => {
    const deviation = deviationOf({
      capacity: (at) => (at >= 20_000 && at < 24_000 ? 0 : 400),
      ...{ callMs: 1_000, ms: 34_000, from: 24_000 },
    });
    assert.ok(deviation < 0.04, deviation.toFixed(4));
  });

  test('hold while it refuses calls again and again, also where there are fewer permits than workers', () => {
    const busy = { callMs: 1_000, ms: 50_000, from: 10_000 };
    const [some, few] = [48, 12].map((calls) => deviationOf({ capacity: () => calls, ...busy }));
    assert.ok((some ?? 1) < 0.01 && (few ?? 1) < 0.023, `${some?.toFixed(4)}, ${few?.toFixed(4)}`);
  });

  test('cost few refusals, however many workers there are', () => {
    const { made, refused } = measure([16, 16], { capacity: () => 48, callMs: 200, ms: 40_000 });
    assert.ok(refused < made * 0.02, `${refused} refused, ${made} accepted`);
  });
});

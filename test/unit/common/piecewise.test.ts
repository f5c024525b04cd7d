import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { StudioError } from '../../../src/common/errors.ts';
import { each, finish, inSlices, type Piecewise, sorted } from '../../../src/common/piecewise.ts';

function* sumTo(most: number, looked: (number: number) => void = () => undefined): Piecewise<number> {
  let sum = 0;
  yield* each(
    Array.from({ length: most }, (_, i) => i + 1),
    (number) => {
      looked(number);
      sum += number;
    },
  );
  return sum;
}

describe('piecewise work', () => {
  it('has the same result at once and in slices', async () => {
    assert.equal(finish(sumTo(10_000)), 50_005_000);
    assert.equal(await inSlices(sumTo(10_000), 0, new AbortController().signal), 50_005_000);
  });

  it('runs its first slice immediately, and yields between slices', async () => {
    let last = 0;
    const done = inSlices(
      sumTo(20_000, (number) => (last = number)),
      0,
      new AbortController().signal,
    );
    const first = last;
    assert.ok(first > 0 && first < 20_000, String(first));
    let turns = 0;
    const turn = setInterval(() => (turns += 1), 0);
    await done;
    clearInterval(turn);
    assert.ok(turns > 0);
  });

  it('sorts numbers, including a last partial slice', () => {
    for (const length of [0, 1, 7, 8, 9, 64, 1_001]) {
      const numbers = Array.from({ length }, (_, i) => (i % 5 === 0 ? Infinity : (i * 7_919) % 257));
      assert.deepEqual(
        [...finish(sorted(new Float64Array(numbers), 8))],
        numbers.toSorted((a, b) => a - b),
        `${length} numbers`,
      );
    }
  });

  it('stops when aborted', async () => {
    const stop = new AbortController();
    let last = 0;
    const done = inSlices(
      sumTo(1_000_000, (number) => (last = number)),
      0,
      stop.signal,
    );
    stop.abort();
    await assert.rejects(done, (error) => StudioError.is(error, 'cancelled'));
    assert.ok(last < 1_000_000);
  });
});

/** From the spawn of `rollout run` to its first model call, and from the last reply to the end of the process. */

import { runBare, startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { rounds, spread, table } from './support/table.ts';

const CALLS = 2;
const LANES = 64;
const SHAPES = [
  { attempts: 100, cold: false },
  { attempts: 2000, cold: false },
  { attempts: 100, cold: true },
] as const;

const rows = [['attempts', 'what', 'spawn → first call ms (min / median / max)', 'last reply → end ms']];
for (const { attempts, cold } of SHAPES) {
  const times = {
    bare: { first: [] as number[], last: [] as number[] },
    product: { first: [] as number[], last: [] as number[] },
  };
  for (let round = 0; round < rounds(5); round++) {
    for (const runner of ['bare', 'product'] as const) {
      const mock = await startMock(0, 1, 1, CALLS);
      const bench = new ProductBench();
      try {
        const spawnedAt = Date.now();
        const { spawnedAt: from, endedAt: until } =
          runner === 'bare'
            ? await runBare(mock.url, 100, attempts / 100, LANES, 'whole').then(() => ({
                spawnedAt,
                endedAt: Date.now(),
              }))
            : await bench.run({ tasks: 100, attempts: attempts / 100, lanes: LANES, url: mock.url }, { cold });
        const { first, last } = await mock.stats();
        times[runner].first.push(first - from);
        times[runner].last.push(until - last);
      } finally {
        await bench.close();
        await mock.stop();
      }
    }
  }
  rows.push([String(attempts), 'bare loop', spread(times.bare.first, 0), spread(times.bare.last, 0)]);
  rows.push([
    '',
    cold ? 'rollout run, no server yet' : 'rollout run',
    spread(times.product.first, 0),
    spread(times.product.last, 0),
  ]);
}
console.log(table(rows, [0, 2, 3]));
console.log('Bound, with a server there: first call ≤ 1,000 ms, end ≤ 500 ms, at any number of attempts.');

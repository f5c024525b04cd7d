/**
 * Peak memory of the server and of the workers in a short batch and in one ten times as long. The bare loop is the
 * baseline.
 */

import { runBare, startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { median, rounds, spread, table } from './support/table.ts';

const TASKS = 100;
const LANES = 64;
const CALLS = 2;
const SIZES = [5, 50];

const peaks = {
  'bare loop': new Map<number, number[]>(),
  server: new Map<number, number[]>(),
  worker: new Map<number, number[]>(),
  'server and worker': new Map<number, number[]>(),
  'all processes, shared pages once': new Map<number, number[]>(),
};
for (let round = 0; round < rounds(3); round++) {
  for (const attempts of SIZES) {
    const mock = await startMock(0, 1, 1, CALLS);
    const bench = new ProductBench();
    try {
      const bare = await runBare(mock.url, TASKS, attempts, LANES, 'whole');
      const run = await bench.run({ tasks: TASKS, attempts, lanes: LANES, url: mock.url });
      if (run.report.passed !== TASKS * attempts)
        throw new Error(`only ${run.report.passed} of ${TASKS * attempts} attempts passed`);
      for (const [of, bytes] of [
        ['bare loop', bare.rss],
        ['server', run.serverRss],
        ['worker', run.workerRss],
        ['server and worker', run.serverRss + run.workerRss],
        ['all processes, shared pages once', run.treePss],
      ] as const) {
        peaks[of].set(attempts, [...(peaks[of].get(attempts) ?? []), bytes / 1e6]);
      }
    } finally {
      await bench.close();
      await mock.stop();
    }
  }
}

const [short = 0, long = 0] = SIZES;
const rows = [
  [
    'peak resident MB of',
    `${TASKS * short} attempts (min / median / max)`,
    `${TASKS * long} attempts`,
    'ratio of medians',
  ],
];
for (const [of, by] of Object.entries(peaks)) {
  const [few, many] = [by.get(short) ?? [], by.get(long) ?? []];
  rows.push([of, spread(few, 0), spread(many, 0), (median(many) / median(few)).toFixed(2)]);
}
console.log(table(rows, [1, 2, 3]));
console.log(
  `Attempts of ${CALLS} calls, ${LANES} at once in one worker, latency 0. Bounds: ratio 1.15 for server and ` +
    'worker; 400 MB together.',
);

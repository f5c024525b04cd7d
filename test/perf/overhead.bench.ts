/**
 * CPU per step of server + workers, everything durable, against a bare Node loop with the same client and model server;
 * and the size of a step on disk once it is compressed. A small batch, where starting processes matters, and a larger
 * one.
 */

import { runBare, startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { median, rounds, spread, table } from './support/table.ts';
import { TURNS } from './support/work.ts';

const TASKS = 32;
const LANES = 64;
const SHAPES = [
  { name: 'whole', chunks: 1, stream: false, attempts: 8 },
  { name: 'whole', chunks: 1, stream: false, attempts: 32 },
  { name: '200 chunks', chunks: 200, stream: true, attempts: 8 },
] as const;

const rows: string[][] = [
  [
    'replies',
    'steps',
    'runner',
    `CPU ms per step (${rounds(3)} runs: min / median / max)`,
    'ratio',
    'bytes on disk per step',
  ],
];
for (const { name, chunks, stream, attempts } of SHAPES) {
  const steps = TASKS * attempts * TURNS;
  const bare: number[] = [];
  const product: number[] = [];
  const disk: number[] = [];
  for (let round = 0; round < rounds(3); round++) {
    const mock = await startMock(0, 1, chunks);
    const bench = new ProductBench();
    try {
      const base = await runBare(mock.url, TASKS, attempts, LANES, stream);
      bare.push((base.cpu_s / base.steps) * 1000);
      const run = await bench.run({ tasks: TASKS, attempts, lanes: LANES, url: mock.url });
      if (run.report.passed !== TASKS * attempts)
        throw new Error(`only ${run.report.passed} of ${TASKS * attempts} attempts passed`);
      product.push((run.cpuSeconds / steps) * 1000);
      await bench.packed();
      disk.push(bench.bytesOnDisk() / steps);
    } finally {
      await bench.close();
      await mock.stop();
    }
  }
  rows.push([name, String(steps), 'bare loop', spread(bare), '1.00', '']);
  rows.push(['', '', 'product', spread(product), (median(product) / median(bare)).toFixed(2), median(disk).toFixed(0)]);
}
console.log(table(rows, [1, 3, 4, 5]));
console.log(
  `${TASKS} tasks x 8 or 32 attempts x ${TURNS} calls, ${LANES} at once, latency 0. A step says some 750 bytes ` +
    'and its tool gives 1,003. Bound: ratio ≤ 2, disk ≤ 1,300 + 1,753.',
);

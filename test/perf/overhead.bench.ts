/** CPU per step of server + workers, everything durable, against a bare Node loop with the same client and model server. */
import { ProductBench } from './support/product.ts';
import { runBare, startMock } from './support/processes.ts';
import { median, rounds, spread, table } from './support/table.ts';
import { TURNS } from './support/work.ts';

const TASKS = 32;
const ATTEMPTS = 8;
const LANES = 64;
const steps = TASKS * ATTEMPTS * TURNS;

const rows: string[][] = [['replies', 'runner', `CPU ms per step (${rounds(3)} runs: min / median / max)`, 'ratio', 'bytes on disk per step']];
for (const [name, chunks, stream] of [['whole', 1, false], ['200 chunks', 200, true]] as const) {
  const bare: number[] = [];
  const product: number[] = [];
  let disk = '';
  for (let round = 0; round < rounds(3); round++) {
    const mock = await startMock(0, 1, chunks);
    const bench = new ProductBench();
    try {
      const base = await runBare(mock.url, TASKS, ATTEMPTS, LANES, stream);
      bare.push((base.cpu_s / base.steps) * 1000);
      const run = bench.run({ tasks: TASKS, attempts: ATTEMPTS, lanes: LANES, url: mock.url });
      if (run.report.passed !== TASKS * ATTEMPTS) throw new Error(`only ${run.report.passed} of ${TASKS * ATTEMPTS} attempts passed`);
      product.push((run.cpuSeconds / steps) * 1000);
      disk = (bench.bytesOnDisk() / steps).toFixed(0);
    } finally {
      bench.close();
      await mock.stop();
    }
  }
  rows.push([name, 'bare loop', spread(bare), '1.00', '']);
  rows.push(['', 'product', spread(product), (median(product) / median(bare)).toFixed(2), disk]);
}
console.log(table(rows, [2, 3, 4]));
console.log(`${TASKS} tasks x ${ATTEMPTS} attempts x ${TURNS} calls, ${LANES} at once, latency 0. A step says some 750 bytes and its tool gives 1,003. Bound: ratio ≤ 2, disk ≤ 1,300 + 1,753.`);

/**
 * Makespan against a simulated greedy executor without overhead, with the same order, width, and scripted latencies.
 */
import { spawn } from 'node:child_process';
import { runBare, startMock, stopped } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { rounds, spread, table } from './support/table.ts';
import { idealMs } from './support/work.ts';

const LATENCY = { medianMs: 500, sigma: 0.6 };
/** Lanes → tasks x attempts: sized for about 20 s each. */
const SHAPES = [
  { lanes: 8, tasks: 8, attempts: 3 },
  { lanes: 64, tasks: 32, attempts: 6 },
];

const rows: string[][] = [['lanes', 'machine', 'runner', 'span / ideal (min / median / max)', 'ideal s']];
for (const { lanes, tasks, attempts } of SHAPES) {
  const ideal = idealMs(tasks, attempts, lanes, LATENCY);
  for (const busy of [false, true]) {
    const burner = busy ? spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' }) : undefined;
    const spans: Record<'bare loop' | 'product', number[]> = { 'bare loop': [], product: [] };
    try {
      for (let round = 0; round < rounds(1); round++) {
        for (const runner of ['bare loop', 'product'] as const) {
          const mock = await startMock(LATENCY.medianMs, LATENCY.sigma, 1);
          const bench = new ProductBench();
          try {
            if (runner === 'product') await bench.run({ tasks, attempts, lanes, url: mock.url });
            else await runBare(mock.url, tasks, attempts, lanes, 'whole');
            const stats = await mock.stats();
            spans[runner].push((stats.last - stats.first) / ideal);
          } finally {
            await bench.close();
            await mock.stop();
          }
        }
      }
    } finally {
      if (burner !== undefined) await stopped(burner);
    }
    for (const [runner, values] of Object.entries(spans))
      rows.push([
        String(lanes),
        busy ? 'one core burning' : 'quiet',
        runner,
        spread(values, 3),
        (ideal / 1000).toFixed(1),
      ]);
  }
}
console.log(table(rows, [0, 3, 4]));
console.log('Span = first request to last reply. Bound for the product: 1.02 quiet, 1.10 with one core burning.');

/**
 * What the product costs per step, everything durable, against bare Node loops that do the same work at the same model
 * server in the same minute: whole replies against the `openai` package, streamed ones against undici alone, with a
 * loop that parses and keeps every step. Start-up is included. Also: the memory of all processes, and the size of a
 * step on disk once it is compressed. A small batch, where starting processes matters, and a larger one.
 */

import { type BareLoop, runBare, startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { median, rounds, spread, table } from './support/table.ts';
import { TURNS } from './support/work.ts';

const TASKS = 32;
const LANES = 64;
const CHUNKS = 200;
const ROUNDS = rounds(3);

interface Shape {
  readonly name: string;
  readonly loop: BareLoop;
  readonly stream?: 'always';
  readonly attempts: number;
}

const SHAPES: readonly Shape[] = [
  { name: 'whole', loop: 'whole', attempts: 8 },
  { name: 'whole', loop: 'whole', attempts: 32 },
  { name: `${CHUNKS} chunks`, loop: 'undici', stream: 'always', attempts: 8 },
  { name: `${CHUNKS} chunks`, loop: 'undici', stream: 'always', attempts: 32 },
];

const NAMES: Readonly<Record<BareLoop, string>> = { whole: 'openai', stream: 'openai, streamed', undici: 'undici' };

const rows: string[][] = [
  [
    'replies',
    'steps',
    'runner',
    `CPU ms per step (${ROUNDS} runs: min / median / max)`,
    'ratio',
    'steps per second',
    'share',
    'peak MB: server + workers',
    'bytes on disk per step',
  ],
];
for (const { name, loop, stream, attempts } of SHAPES) {
  const steps = TASKS * attempts * TURNS;
  const bare = { cpu: [] as number[], speed: [] as number[], rss: [] as number[] };
  const product = { cpu: [] as number[], speed: [] as number[], rss: [] as number[], parts: [] as string[] };
  const disk: number[] = [];
  const mock = await startMock(0, 1, CHUNKS);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const bench = new ProductBench();
      try {
        const loops = async (): Promise<void> => {
          const run = await runBare(mock.url, TASKS, attempts, LANES, loop);
          if (run.passed !== TASKS * attempts) throw new Error(`the loop passed only ${run.passed} attempts`);
          bare.cpu.push((run.cpu_s / steps) * 1000);
          bare.speed.push(steps / run.total_s);
          bare.rss.push(run.rss / 1e6);
        };
        // The order alternates, so that other loads of the machine affect both.
        if (round % 2 === 0) await loops();
        const run = await bench.run({ tasks: TASKS, attempts, lanes: LANES, url: mock.url, stream });
        if (run.report.passed !== TASKS * attempts)
          throw new Error(`only ${run.report.passed} of ${TASKS * attempts} attempts passed`);
        product.cpu.push((run.cpuSeconds / steps) * 1000);
        product.speed.push(steps / (run.wallMs / 1000));
        product.rss.push((run.serverRss + run.workerRss) / 1e6);
        product.parts.push(`${(run.serverRss / 1e6).toFixed(0)} + ${(run.workerRss / 1e6).toFixed(0)}`);
        // Soon, because an idle server ends.
        await bench.packed();
        disk.push(bench.bytesOnDisk() / steps);
        if (round % 2 === 1) await loops();
      } finally {
        await bench.close();
      }
    }
  } finally {
    await mock.stop();
  }
  const ratio = (of: 'cpu' | 'speed'): string =>
    median(product[of].map((value, at) => value / bare[of][at]!)).toFixed(2);
  rows.push([name, String(steps), NAMES[loop], spread(bare.cpu), '1.00', spread(bare.speed, 0), '1.00']);
  rows.at(-1)!.push(spread(bare.rss, 0), '');
  rows.push(['', '', 'product', spread(product.cpu), ratio('cpu'), spread(product.speed, 0), ratio('speed')]);
  rows.at(-1)!.push(`${spread(product.rss, 0)} (${product.parts.at(-1) ?? ''})`, median(disk).toFixed(0));
}
console.log(table(rows, [1, 3, 4, 5, 6, 7, 8]));
console.log(
  `${TASKS} tasks x 8 or 32 attempts x ${TURNS} calls, ${LANES} at once, latency 0, start-up included. A step says ` +
    'some 750 bytes and its tool gives 1,003. Bounds: ratio 2, share 0.6, memory 400 MB, disk 1,300 + 1,753 bytes.',
);

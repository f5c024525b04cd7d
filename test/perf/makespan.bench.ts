/**
 * Makespan against a simulated greedy executor without overhead, with the same order, width, and scripted latencies,
 * and where the time between calls goes.
 */
import { spawn } from 'node:child_process';
import { connect } from '../../src/client/connect.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { runBare, startMock, stopped } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { median, rounds, spread, table } from './support/table.ts';
import { callSeed, idealMs, type Latency, latencyMs } from './support/work.ts';

const SIGMA = 0.6;
const SLOW = { medianMs: 500, sigma: SIGMA };
const QUICK = { medianMs: 150, sigma: SIGMA };
/** Sized for about 20 s each. */
const SHAPES = [
  { latency: SLOW, lanes: 8, tasks: 8, attempts: 3 },
  { latency: SLOW, lanes: 64, tasks: 32, attempts: 6 },
  { latency: QUICK, lanes: 64, tasks: 32, attempts: 20 },
];
const only = process.argv[2];
/** Attempts whose events are read. */
const SAMPLE = 64;

/** Time in ms, of each call or attempt, that an executor without overhead would not need. */
interface Overhead {
  /** Of a call, beyond the latency of the model server. */
  readonly call: number[];
  /** From the end of a call to the start of the next one: the tool, and the record. */
  readonly between: number[];
  /** From the start of an attempt to its first call, and from its last call to its end. */
  readonly ends: number[];
  /** From the end of an attempt to the start of the one that got its place. */
  readonly lease: number[];
}

async function overheadOf(api: Api, rows: readonly RolloutRow[], latency: Latency): Promise<Overhead> {
  const overhead: Overhead = { call: [], between: [], ends: [], lease: leaseGaps(rows) };
  for (const { rollout, task, attempt } of rows.slice(-SAMPLE)) {
    let call = 0;
    let last: { at: number; end: boolean } | undefined;
    for await (const page of api.allEvents(rollout))
      for (const event of page) {
        if (event.kind === 'rollout.start') last = { at: event.at, end: false };
        if (event.kind === 'model.start' && last !== undefined)
          (last.end ? overhead.between : overhead.ends).push(event.at - last.at);
        if (event.kind === 'model.end') {
          overhead.call.push((event.data.ms ?? Number.NaN) - latencyMs(callSeed(task, attempt, ++call), latency));
          last = { at: event.at, end: true };
        }
        if (event.kind === 'rollout.end' && last !== undefined) overhead.ends.push(event.at - last.at);
      }
  }
  return overhead;
}

/** Each attempt that began after the first ones took the place of one that ended. */
function leaseGaps(rows: readonly RolloutRow[]): number[] {
  const times = (of: 'started_at' | 'ended_at'): number[] =>
    rows.map(({ progress }) => progress[of] ?? Number.NaN).sort((a, b) => a - b);
  const ends = times('ended_at');
  const starts = times('started_at');
  const lanes = starts.filter((at) => at <= (ends[0] ?? Infinity)).length;
  return starts.slice(lanes).map((at, index) => at - (ends[index] ?? at));
}

const rows: string[][] = [
  [
    'median of a call',
    'lanes',
    'machine',
    'runner',
    'span / ideal (min / median / max)',
    'in the order of starts',
    'ideal s',
  ],
];
const gaps: string[][] = [
  ['ms of overhead, median and mean', 'a call', 'between calls', 'start and end', 'next attempt'],
];
const both = (values: readonly number[]): string =>
  `${median(values).toFixed(1)}, ${(values.reduce((sum, one) => sum + one, 0) / (values.length || 1)).toFixed(1)}`;

for (const { latency, lanes, tasks, attempts } of SHAPES) {
  if (only !== undefined && String(latency.medianMs) !== only) continue;
  const ideal = idealMs(tasks, attempts, lanes, latency);
  for (const busy of [false, true]) {
    const burner = busy ? spawn(process.execPath, ['-e', 'for(;;);'], { stdio: 'ignore' }) : undefined;
    const machine = busy ? 'one core burning' : 'quiet';
    const spans: Record<'bare loop' | 'product', number[]> = { 'bare loop': [], product: [] };
    const ordered: number[] = [];
    try {
      for (let round = 0; round < rounds(1); round++) {
        for (const runner of ['bare loop', 'product'] as const) {
          const mock = await startMock(latency.medianMs, latency.sigma, 1);
          const bench = new ProductBench();
          try {
            let own = ideal;
            if (runner === 'product') {
              const { report } = await bench.run({ tasks, attempts, lanes, url: mock.url });
              const { api } = await connect({ store: bench.store, start: false });
              const all = await Array.fromAsync(api.allRollouts(report.batch, { all: 1 }));
              all.sort((a, b) => (a.progress.started_at ?? 0) - (b.progress.started_at ?? 0));
              own = idealMs(tasks, attempts, lanes, latency, false, all);
              const { call, between, ends, lease } = await overheadOf(api, all, latency);
              gaps.push([
                `${latency.medianMs} ms, ${lanes} lanes, ${machine}`,
                ...[call, between, ends, lease].map(both),
              ]);
            } else await runBare(mock.url, tasks, attempts, lanes, 'whole');
            const stats = await mock.stats();
            const span = stats.last - stats.first;
            spans[runner].push(span / ideal);
            if (runner === 'product') ordered.push(span / own);
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
        `${latency.medianMs} ms`,
        String(lanes),
        machine,
        runner,
        spread(values, 3),
        runner === 'product' ? spread(ordered, 3) : '',
        (ideal / 1000).toFixed(1),
      ]);
  }
}
console.log(table(rows, [1, 4, 5, 6]));
console.log(table(gaps, [1, 2, 3, 4]));
console.log(
  'Span: first request to last reply. Bounds for the product: 1.02 quiet, 1.10 with one core burning; with calls of ' +
    '150 ms, whose overhead counts three times, 1.05 in the order in which the product started the attempts.',
);

/**
 * A world that a model plays, at the endpoint of the agents: the makespan against the best schedule that includes the
 * calls of both, next to a world that is a module; and what a call costs on top of its model.
 */
import { connect } from '../../src/client/connect.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { rounds, spread, table } from './support/table.ts';
import { idealMs, TURNS } from './support/work.ts';

const LATENCY = { medianMs: 500, sigma: 0.6 };
/** Lanes → tasks x attempts: sized for about 20 s each. */
const SHAPES = [
  { lanes: 8, tasks: 8, attempts: 2 },
  { lanes: 64, tasks: 32, attempts: 4 },
];

const rows: string[][] = [['lanes', 'world', 'span / ideal (min / median / max)', 'ideal s']];
for (const shape of SHAPES)
  for (const world of ['module', 'simulated'] as const) {
    const ideal = idealMs(shape.tasks, shape.attempts, shape.lanes, LATENCY, world === 'simulated');
    const spans: number[] = [];
    for (let round = 0; round < rounds(1); round++) {
      const mock = await startMock(LATENCY.medianMs, LATENCY.sigma, 1);
      const bench = new ProductBench();
      try {
        const { report } = await bench.run({ ...shape, url: mock.url, world });
        if (report.passed !== shape.tasks * shape.attempts) throw new Error(`only ${report.passed} attempts passed`);
        const { first, last } = await mock.stats();
        spans.push((last - first) / ideal);
      } finally {
        await bench.close();
        await mock.stop();
      }
    }
    rows.push([String(shape.lanes), world, spread(spans, 3), (ideal / 1000).toFixed(1)]);
  }
console.log(table(rows, [0, 2, 3]));
console.log('Span = first request to last reply. Bound: ≤ 1.02 with 64 lanes.\n');

/** Milliseconds of each tool call, without those of the model inside. */
async function overheads(store: string, batch: string): Promise<number[]> {
  const connection = await connect({ store, start: false });
  const all: number[] = [];
  for await (const { rollout } of connection.api.allRollouts(batch)) {
    const events: TraceEvent[] = [];
    for await (const page of connection.api.allEvents(rollout)) events.push(...page);
    const inside = new Map<number, number>();
    const parents = new Map<number, number>();
    for (const event of events) {
      if (event.kind === 'model.start' && event.parent !== undefined) parents.set(event.seq, event.parent);
      const parent = event.kind === 'model.end' ? parents.get(event.span ?? 0) : undefined;
      if (event.kind === 'model.end' && parent !== undefined)
        inside.set(parent, (inside.get(parent) ?? 0) + (event.data.ms ?? 0));
      if (event.kind === 'tool.end') all.push((event.data.ms ?? 0) - (inside.get(event.span ?? 0) ?? 0));
    }
  }
  return all;
}

const calls: string[][] = [['world', 'calls', 'ms per call without its model (min / median / max)']];
for (const world of ['module', 'simulated'] as const) {
  const mock = await startMock(0, 1, 1);
  const bench = new ProductBench();
  try {
    const { report, store } = await bench.run({ tasks: 4, attempts: 16, lanes: 1, url: mock.url, world });
    const each = await overheads(store, report.batch);
    if (each.length !== 64 * (TURNS - 1)) throw new Error(`${each.length} calls`);
    calls.push([world, String(each.length), spread(each)]);
  } finally {
    await bench.close();
    await mock.stop();
  }
}
console.log(table(calls, [1, 2]));
console.log('One lane, latency 0. Bound: ≤ 2 ms more with a model.');

/**
 * Calls repeated after a SIGKILL of the worker in the middle of a batch, counted at the model server: those of recorded
 * steps, and those in progress. The baseline is the cost of restarting the lost attempts.
 */
import { connect } from '../../src/client/connect.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { rounds, table } from './support/table.ts';
import { callSeed, TURNS } from './support/work.ts';

const SHAPE = { tasks: 32, attempts: 8, lanes: 64 };
const CALLS = SHAPE.tasks * SHAPE.attempts * TURNS;

const rows = [
  [
    'round',
    'calls',
    'interrupted',
    'recorded steps of these',
    'repeated of those',
    'repeated in progress',
    'repeated after starting over',
  ],
];
for (let round = 1; round <= rounds(3); round++) {
  const mock = await startMock(50, 0.5, 1);
  const bench = new ProductBench();
  try {
    const running = bench.run({ ...SHAPE, url: mock.url });
    const killed: number[] = [];
    const watch = setInterval(() => {
      void mock.stats().then(({ calls }) => {
        const [worker] = bench.workers();
        if (killed.length > 0 || calls < CALLS / 2 || worker === undefined) return;
        killed.push(worker);
        process.kill(worker, 'SIGKILL');
      });
    }, 20);
    const { report } = await running.finally(() => clearInterval(watch));
    if (killed.length === 0 || report.passed !== report.attempts)
      throw new Error(`killed: ${killed.length}, passed: ${report.passed} of ${report.attempts}`);
    const again = await mock.again();
    const { api } = await connect({ store: bench.store, start: false });
    const counts = { interrupted: 0, recorded: 0, recordedAgain: 0 };
    for await (const page of pages(api, report.batch)) {
      for (const row of page) {
        const events: TraceEvent[] = [];
        for await (const part of api.allEvents(row.rollout)) events.push(...part);
        const resumed = events.findLast((event) => event.kind === 'rollout.lease' && event.data.how === 'resumed');
        if (resumed === undefined) continue;
        counts.interrupted += 1;
        for (const seed of recordedCalls(events, resumed.seq, row.task, row.attempt)) {
          counts.recorded += 1;
          if (again[String(seed)] !== undefined) counts.recordedAgain += 1;
        }
      }
    }
    const { calls } = await mock.stats();
    const all = Object.values(again).reduce((sum, times) => sum + times - 1, 0);
    rows.push(
      [
        round,
        calls,
        counts.interrupted,
        counts.recorded,
        counts.recordedAgain,
        all - counts.recordedAgain,
        counts.recorded + all - counts.recordedAgain,
      ].map(String),
    );
  } finally {
    await bench.close();
    await mock.stop();
  }
}
console.log(table(rows, [0, 1, 2, 3, 4, 5, 6]));
console.log(
  `${CALLS} calls of about 50 ms, ${SHAPE.lanes} at once, SIGKILL of the worker after half of them. Bound: 0 ` +
    'repeated of recorded steps.',
);

type Api = Awaited<ReturnType<typeof connect>>['api'];

async function* pages(api: Api, batch: string): AsyncGenerator<Awaited<ReturnType<Api['rollouts']>>['rollouts']> {
  let after: string | undefined;
  do {
    const page = await api.rollouts(batch, { limit: 500, ...(after === undefined ? {} : { after }) });
    yield page.rollouts;
    after = page.next;
  } while (after !== undefined);
}

/** Seeds of the model calls that were answered and stored before `until`. */
function recordedCalls(events: readonly TraceEvent[], until: number, task: string, attempt: number): number[] {
  const starts = new Map(
    events.flatMap((event) => (event.kind === 'model.start' ? [[event.seq, event.data.step] as const] : [])),
  );
  return events.flatMap((event) => {
    const step =
      event.kind === 'model.end' && event.seq < until && event.data.status === 'ok' && event.span !== undefined
        ? starts.get(event.span)
        : undefined;
    return step === undefined ? [] : [callSeed(task, attempt, step)];
  });
}

/**
 * CPU that redaction adds to a step: the events of a real batch pass the outlet of a worker, without secrets and with
 * five, as its messages pass the log before. Bound: 3 % of the CPU of a step.
 */
import { connect } from '../../src/client/connect.ts';
import { redactor } from '../../src/common/redaction/redactor.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { Outlet } from '../../src/worker/outlet.ts';
import { startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { median, rounds, table } from './support/table.ts';
import { TURNS } from './support/work.ts';

const TASKS = 32;
const ATTEMPTS = 16;
const REPEATS = 2_000;
const SECRETS = {
  OPENAI_API_KEY: 'sk-proj-4Kq8xP2vN7mZ',
  DATABASE_URL: 'postgres://desk:s3cr3t-pass@db.internal:5432/loans',
  GITHUB_TOKEN: 'ghp_a8f7s6d5f4g3h2j1k0l9',
  PASSWORD: 'hunter2',
  PIN: '48151623',
};

/** Returns the CPU of one call in microseconds. */
function cost(run: () => void): number {
  for (let round = 0; round < REPEATS / 4; round++) run();
  const before = process.cpuUsage();
  for (let round = 0; round < REPEATS; round++) run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / REPEATS;
}

const mock = await startMock(0, 1, 1);
const bench = new ProductBench();
let events: TraceEvent[];
let step: number;
try {
  const run = await bench.run({ tasks: TASKS, attempts: ATTEMPTS, lanes: 64, url: mock.url });
  step = (run.cpuSeconds / (TASKS * ATTEMPTS * TURNS)) * 1e6;
  const { api } = await connect({ store: bench.store });
  const [row] = (await api.rollouts(run.report.batch)).rollouts;
  events = (await Array.fromAsync(api.allEvents(row?.rollout ?? ''))).flat();
} finally {
  await bench.close();
  await mock.stop();
}

const plain = new Outlet({});
const hiding = new Outlet(SECRETS);
const secrets = redactor(Object.values(SECRETS));
const parts = events.flatMap((event) => (event.kind === 'message' ? [event.data.parts] : []));
const steps = events.filter(({ kind }) => kind === 'model.end').length;
const added: number[] = [];
for (let round = 0; round < rounds(5); round++) {
  const without = cost(() => plain.append(events, []));
  const outlet = cost(() => hiding.append(events, []));
  const log = cost(() => {
    for (const one of parts) secrets.json(one);
  });
  added.push((outlet - without + log) / steps);
}
console.log(
  table(
    [
      ['CPU of a step', 'redaction of five secrets', 'share', 'bound'],
      [
        `${step.toFixed(0)} µs`,
        `${median(added).toFixed(1)} µs`,
        `${((median(added) / step) * 100).toFixed(2)} %`,
        '3 %',
      ],
    ],
    [0, 1, 2, 3],
  ),
);
if (median(added) > step * 0.03) process.exitCode = 1;

/**
 * The effect of more lanes and more pods: the same tasks at the same model server, whose latency of a call follows from
 * its seed, one attempt after another, eight at once on this machine, and in 1, 2, 4, and 8 pods of a cluster; and
 * eight times the work in 16 pods. Each is compared with a greedy executor without overhead, simulated with the same
 * order and width; the start time of pods is reported separately. Without a cluster only the local part runs.
 */

import { startCluster } from '../../src/build/system/cluster.ts';
import { connect } from '../../src/client/connect.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { podsOf } from '../cluster/support/batches.ts';
import { ClusterBench, until } from '../cluster/support/clusterBench.ts';
import { startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { table } from './support/table.ts';
import { attemptsInOrder, chainMs, idealMs } from './support/work.ts';

const LATENCY = { medianMs: 500, sigma: 0.6 };
interface Work {
  readonly tasks: number;
  readonly attempts: number;
}
const WORK: Work = { tasks: 16, attempts: 4 };
/** So that 32 lanes have more to do than to start. */
const MUCH: Work = { tasks: 32, attempts: 16 };
const PODS: readonly (readonly [pods: number, work: Work])[] = [
  [1, WORK],
  [2, WORK],
  [4, WORK],
  [8, WORK],
  [16, MUCH],
];
/** Rollouts at once in a pod: few, so that starting eight pods on a machine of two cores does not dominate. */
const SLOTS = 2;
/** Time limit of a batch in pods. */
const MAX_MS = 15 * 60_000;
/** Bound on the ratio of the makespan, counted from the first working pod, to the lower bound. */
const BOUND = 1.15;

interface Result {
  readonly name: string;
  readonly lanes: number;
  readonly work: Work;
  readonly spawnedAt: number;
  readonly rows: readonly RolloutRow[];
}

/** On this machine, in a separate store. */
async function local(name: string, lanes: number): Promise<Result> {
  const mock = await startMock(LATENCY.medianMs, LATENCY.sigma, 1);
  const bench = new ProductBench();
  try {
    const { report, spawnedAt } = await bench.run({ ...WORK, lanes, url: mock.url });
    const { api } = await connect({ store: bench.store, start: false });
    return { name, lanes, work: WORK, spawnedAt, rows: await rowsOf(api, report.batch, WORK) };
  } finally {
    await bench.close();
    await mock.stop();
  }
}

/** In this many pods of the cluster. */
async function inPods(cluster: ClusterBench, pods: number, work: Work): Promise<Result> {
  const mock = await startMock(LATENCY.medianMs, LATENCY.sigma, 1);
  const files = new ProductBench();
  try {
    const lanes = pods * SLOTS;
    files.write({
      ...work,
      lanes,
      url: mock.url,
      pods: podsOf(cluster.site, { count: pods }),
    });
    const spawnedAt = Date.now();
    const ran = await cluster.rolloutIn(files.workspace, {}, 'run', 'bench.batch.yaml', '--detach', '--json');
    if (ran.code !== 0) throw new Error(`the batch for ${pods} pods was not taken: ${ran.stderr}`);
    const { batch } = JSON.parse(ran.stdout) as { batch: string };
    const { api } = await cluster.connection();
    await until(`${batch} has ended`, async () => (await api.batch(batch)).state === 'ended', MAX_MS);
    return {
      name: `cluster, ${pods} ${pods === 1 ? 'pod' : 'pods'}`,
      lanes,
      work,
      spawnedAt,
      rows: await rowsOf(api, batch, work),
    };
  } finally {
    await files.close();
    await mock.stop();
  }
}

/** Rows of a batch whose attempts all passed at the first try. */
async function rowsOf(api: Api, batch: string, { tasks, attempts }: Work): Promise<RolloutRow[]> {
  const rows = await Array.fromAsync(api.allRollouts(batch, { all: 1 }));
  const passed = rows.filter(({ progress }) => progress.passed === true).length;
  if (rows.length !== tasks * attempts || passed !== rows.length)
    throw new Error(`${batch}: ${passed} of ${rows.length} rollouts passed`);
  return rows;
}

async function results(): Promise<Result[]> {
  // One attempt at a time uses little of the machine, but takes as long as all the others together: it runs in parallel
  // with them.
  const sequential = local('one after another', 1);
  const parallel = (async () => [await local('this machine, 8 at once', 8), ...(await onCluster())])();
  await Promise.allSettled([sequential, parallel]); // ends what they started, even after a failure
  return [await sequential, ...(await parallel)];
}

async function onCluster(): Promise<Result[]> {
  const cluster = startCluster();
  if (typeof cluster === 'string') {
    console.log(`Without pods: ${cluster}`);
    return [];
  }
  process.env['KUBECONFIG'] = cluster.kubeconfig;
  let bench: ClusterBench | undefined;
  try {
    bench = await ClusterBench.open('speedup');
    if (bench.site.port === undefined) {
      console.log(
        'Without pods: those of this cluster do not reach the model server of this benchmark, which listens on ' +
          'loopback; the kit’s do.',
      );
      return [];
    }
    await bench.install();
    const all: Result[] = [];
    for (const [pods, work] of PODS) all.push(await inPods(bench, pods, work));
    return all;
  } finally {
    await bench?.close();
    cluster.stop();
  }
}

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
const three = (values: readonly number[]): string =>
  [0.5, 0.95, 1].map((share) => (at(values, share) / 1000).toFixed(1)).join(' / ');
const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** When each worker began its first attempt, sorted by time. */
function begins(rows: readonly RolloutRow[]): number[] {
  const first = new Map<string, number>();
  for (const {
    worker = '',
    progress: { started_at = Number.NaN },
  } of rows)
    first.set(worker, Math.min(first.get(worker) ?? Infinity, started_at));
  return [...first.values()].sort((a, b) => a - b);
}

const scripted = attemptsInOrder(WORK.tasks, WORK.attempts).map(({ task, attempt }) => chainMs(task, attempt, LATENCY));
const lines = [
  [
    'run',
    'attempts',
    'at once',
    'start-up s: first, last',
    'makespan s',
    'lower bound s',
    'ratio',
    'as they came',
    'speed-up',
    'each takes s: p50 / p95 / max',
  ],
];
let over = false;
for (const { name, lanes, work, spawnedAt, rows } of await results()) {
  const workers = begins(rows);
  const first = workers[0] ?? Number.NaN;
  const span = Math.max(...rows.map(({ progress }) => progress.ended_at ?? Number.NaN)) - first;
  const bound = idealMs(work.tasks, work.attempts, lanes, LATENCY);
  const came = idealMs(
    work.tasks,
    work.attempts,
    workers.flatMap((began) => new Array<number>(lanes / workers.length).fill(began - first)),
    LATENCY,
  );
  over ||= span / bound > BOUND;
  const starts = [first, workers.at(-1) ?? first].map((time) => seconds(time - spawnedAt)).join(', ');
  lines.push([
    name,
    String(rows.length),
    String(lanes),
    starts,
    seconds(span),
    seconds(bound),
    (span / bound).toFixed(3),
    (span / came).toFixed(3),
    (idealMs(work.tasks, work.attempts, 1, LATENCY) / span).toFixed(2),
    three(rows.map(({ progress }) => progress.ms ?? Number.NaN)),
  ]);
}
console.log(table(lines, [1, 2, 4, 5, 6, 7, 8]));
console.log(
  `Calls of ${LATENCY.medianMs} ms (median): as the model server answers, ` +
    `attempts take ${three(scripted)} s. Start-up: from the command to the first attempt of the first and of the ` +
    'last worker; makespan: from there, the first, to the end of the last attempt.',
);
console.log(
  'Ratio: makespan to lower bound, with all lanes there at once; “as they came”: with the lanes of each pod from ' +
    `when it began. Speed-up: over one attempt after another without overhead. Bound: ratio ≤ ${BOUND}.`,
);
if (over) {
  console.log('✗ over the bound');
  process.exitCode = 1;
}

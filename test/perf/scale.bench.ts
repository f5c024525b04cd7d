/**
 * A thousand pods at one server: workers are simulated; their protocol, the server's process, and its store are real.
 * How long attempts wait, how soon events are durable, and the server's memory and CPU; compared with eight pods.
 */
import { plainSubmission, TestStore, tasks } from '../support/rolloutServer.ts';
import { cpuSeconds, peakRss } from './support/processes.ts';
import { type PodShape, PodTimes, SimulatedPod } from './support/simulatedPod.ts';
import { table } from './support/table.ts';

/** A step takes as long as at a model server with 32,000 attempts. */
const SHAPE: PodShape = { slots: 32, steps: 4, stepMs: 20_000 };
/** Attempts that each slot runs, one after the other. */
const EACH = 2;
/** Pods that a cluster starts per second. */
const STARTS_PER_SECOND = 40;
const BOUND = { waitMs: 1_000, bytes: 1024 ** 3 };

interface Result {
  readonly times: PodTimes;
  readonly seconds: number;
  readonly cpu: number;
  readonly rss: number;
}

async function run(pods: number): Promise<Result> {
  await using store = new TestStore();
  const server = await store.start();
  const attempts = 64; // so that the tasks fit into one request
  const batch = await server.submit(
    plainSubmission({ attempts, concurrency: pods * SHAPE.slots }),
    tasks((pods * SHAPE.slots * EACH) / attempts),
  );
  const token = await server.workerToken(batch);
  const { pid } = server.file;
  const [times, all] = [new PodTimes(), pods * SHAPE.slots * EACH];
  const failed = Promise.withResolvers<never>();
  const [cpu, began] = [cpuSeconds(pid), performance.now()];
  const started: SimulatedPod[] = [];
  try {
    for (let pod = 0; pod < pods; pod++) {
      started.push(await SimulatedPod.start(server.url, token, `pod-${pod}`, SHAPE, times, pod + 1, failed.reject));
      await new Promise((resolve) => setTimeout(resolve, 1_000 / STARTS_PER_SECOND));
    }
    await Promise.race([failed.promise, settled(times, all)]);
    const seconds = (performance.now() - began) / 1_000;
    const row = await server.api.batch(batch);
    if (row.state !== 'ended' || row.counts.passed !== all)
      throw new Error(`the batch ended with ${row.counts.passed} of ${all} attempts passed`);
    return { times, seconds, cpu: (cpuSeconds(pid) - cpu) / seconds, rss: peakRss(pid) };
  } finally {
    for (const pod of started) pod.close();
  }
}

async function settled(times: PodTimes, all: number): Promise<void> {
  for (let lastReport = 0; times.settled < all; ) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    if (performance.now() - lastReport > 15_000)
      console.error(`${times.settled} of ${all} attempts, ${times.events} events`);
    if (performance.now() - lastReport > 15_000) lastReport = performance.now();
  }
}

const at = (values: number[], share: number): string =>
  (values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN).toFixed(
    0,
  );
const three = (values: number[]): string => [0.5, 0.95, 1].map((share) => at(values, share)).join(' / ');

const many = Number(process.env['PODS'] ?? 1_000);
const few = await run(8);
const result = await run(many);
console.log(
  table(
    [
      ['what', '8 pods', `${many} pods`],
      [
        'attempts at once, settled',
        `${8 * SHAPE.slots}, ${few.times.settled}`,
        `${many * SHAPE.slots}, ${result.times.settled}`,
      ],
      [
        'wait for an attempt while pods start, ms (median / p95 / max)',
        three(few.times.first),
        three(result.times.first),
      ],
      ['wait for the next attempt', three(few.times.next), three(result.times.next)],
      ['append to durable', three(few.times.acks), three(result.times.acks)],
      [
        'events a second',
        (few.times.events / few.seconds).toFixed(0),
        (result.times.events / result.seconds).toFixed(0),
      ],
      [
        'server: CPU (1 = a core), peak memory in MB',
        `${few.cpu.toFixed(2)}, ${(few.rss / 1e6).toFixed(0)}`,
        `${result.cpu.toFixed(2)}, ${(result.rss / 1e6).toFixed(0)}`,
      ],
    ],
    [1, 2],
  ),
);
console.log(
  `Steps of ${SHAPE.stepMs / 1_000} s on average, ${SHAPE.steps} an attempt; ${STARTS_PER_SECOND} pods start a ` +
    `second. Bound: p95 of a wait ≤ ${BOUND.waitMs} ms, memory ≤ ${BOUND.bytes / 1024 ** 2} MiB.`,
);
if (
  [result.times.first, result.times.next].some((waits) => Number(at(waits, 0.95)) > BOUND.waitMs) ||
  result.rss > BOUND.bytes
) {
  console.log('✗ over the bound');
  process.exitCode = 1;
}

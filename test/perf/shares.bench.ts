/**
 * Three queues with shares 2:1:1 on a thousand pods at one server: workers are simulated, and call only as they have
 * permits; their protocol, the server's process, and its store are real. How long attempts wait, how far the parts of
 * the calls are from the shares over any minute, and the server's memory.
 */
import { plainSubmission, type TestServer, TestStore, tasks } from '../support/rolloutServer.ts';
import { cpuSeconds, peakRss } from './support/processes.ts';
import { type PodShape, PodTimes, SimulatedPod } from './support/simulatedPod.ts';
import { table } from './support/table.ts';

const SHAPE: PodShape = { slots: 32, steps: 4, stepMs: 20_000, permits: true };
const WEIGHTS = { ann: 2, bob: 1, eve: 1 } as const;
const NAMES = Object.keys(WEIGHTS) as (keyof typeof WEIGHTS)[];
/** Pods that a cluster starts per second. */
const STARTS_PER_SECOND = 40;
const PODS = Number(process.env['PODS'] ?? 1_000);
/** After all pods have started, until the first minute begins. */
const SETTLE_MS = 20_000;
const MEASURED_MS = Number(process.env['SECONDS'] ?? 180) * 1_000;
const MINUTE_MS = 60_000;
const SAMPLE_MS = 1_000;
const BOUND = { waitMs: 1_000, deviation: 0.05, bytes: 1024 ** 3 };

interface Part {
  readonly name: keyof typeof WEIGHTS;
  readonly batch: string;
  readonly token: string;
  readonly times: PodTimes;
}

async function partOf(server: TestServer, name: keyof typeof WEIGHTS): Promise<Part> {
  const attempts = 64;
  const rollouts = (PODS / NAMES.length) * SHAPE.slots * 3;
  const submission = plainSubmission({ name, attempts, queue: name, concurrency: PODS * SHAPE.slots });
  const batch = await server.submit(submission, tasks(Math.ceil(rollouts / attempts)));
  return { name, batch, token: await server.workerToken(batch), times: new PodTimes() };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function run(server: TestServer): Promise<{ parts: Part[]; samples: number[][]; cpu: number; rss: number }> {
  const parts: Part[] = [];
  for (const name of NAMES) parts.push(await partOf(server, name));
  const started: SimulatedPod[] = [];
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const { pid } = server.file;
  try {
    for (let pod = 0; pod < PODS; pod++) {
      const part = parts[pod % parts.length];
      if (part === undefined) throw new Error('there are no parts');
      const { token, name, times } = part;
      started.push(await SimulatedPod.start(server.url, token, `${name}-${pod}`, SHAPE, times, pod + 1, failed.reject));
      await sleep(1_000 / STARTS_PER_SECOND);
    }
    await Promise.race([failed.promise, sleep(SETTLE_MS)]);
    const [cpu, began] = [cpuSeconds(pid), performance.now()];
    const samples: number[][] = [];
    while (performance.now() - began < MEASURED_MS) {
      samples.push(parts.map(({ times }) => times.calls));
      if (samples.length % 15 === 0) console.error(`${samples.length} s: ${samples.at(-1)?.join(' / ')} calls`);
      await Promise.race([failed.promise, sleep(SAMPLE_MS)]);
    }
    return { parts, samples, cpu: ((cpuSeconds(pid) - cpu) / MEASURED_MS) * 1_000, rss: peakRss(pid) };
  } finally {
    for (const pod of started) pod.close();
  }
}

/** The largest deviation of a part from its share, relative to the share, over any minute; and the mean parts. */
function deviations(samples: readonly (readonly number[])[]): { largest: number; parts: number[] } {
  const all = NAMES.reduce((sum, name) => sum + WEIGHTS[name], 0);
  const length = MINUTE_MS / SAMPLE_MS;
  let largest = samples.length > length ? 0 : Number.NaN;
  const partsOf = (from: readonly number[] | undefined, to: readonly number[] | undefined): number[] => {
    const made = NAMES.map((_, index) => (to?.[index] ?? 0) - (from?.[index] ?? 0));
    const total = made.reduce((sum, value) => sum + value, 0);
    return made.map((value) => value / total);
  };
  for (let end = length; end < samples.length; end++)
    for (const [index, part] of partsOf(samples[end - length], samples[end]).entries()) {
      const share = WEIGHTS[NAMES[index] ?? 'ann'] / all;
      largest = Math.max(largest, Math.abs(part / share - 1));
    }
  return { largest, parts: partsOf(samples[0], samples.at(-1)) };
}

const p95 = (values: number[]): number =>
  values.sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * 0.95))] ?? 0;

await using store = new TestStore();
const queues = Object.fromEntries(NAMES.map((name) => [name, { weight: WEIGHTS[name] }]));
const server = await store.start(['--executor', 'none'], { ROLLOUT_SHARES: JSON.stringify({ queues }) });
const { parts, samples, cpu, rss } = await run(server);
const { largest, parts: made } = deviations(samples);
const waits = {
  first: p95(parts.flatMap(({ times }) => times.first)),
  next: p95(parts.flatMap(({ times }) => times.next)),
};
console.log(
  table(
    [
      ['what', `${PODS} pods x ${SHAPE.slots}`, 'bound'],
      [
        'wait for an attempt, p95 ms: while pods start / the next one',
        `${waits.first.toFixed(0)} / ${waits.next.toFixed(0)}`,
        `${BOUND.waitMs}`,
      ],
      [
        `parts of the calls (shares ${Object.values(WEIGHTS).join(':')})`,
        made.map((part) => `${(part * 100).toFixed(1)} %`).join(' / '),
        '',
      ],
      [
        'largest deviation from a share over any minute',
        `${(largest * 100).toFixed(1)} %`,
        `${BOUND.deviation * 100} %`,
      ],
      ['peak memory of the server', `${(rss / 1024 ** 2).toFixed(0)} MiB`, `${BOUND.bytes / 1024 ** 2} MiB`],
      ['CPU of the server (1 = a core)', cpu.toFixed(2), ''],
    ],
    [1, 2],
  ),
);
if (Math.max(waits.first, waits.next) > BOUND.waitMs || !(largest <= BOUND.deviation) || rss > BOUND.bytes) {
  console.log('✗ over the bound');
  process.exitCode = 1;
}

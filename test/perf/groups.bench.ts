/**
 * Groups for a trainer: 64 groups of 16 with four extra members, requested at once, at a model server whose latency has
 * a heavy tail. Their makespan is compared with a greedy executor without overhead that over-samples in the same way,
 * with naive steps of as many groups as fit, which wait for their slowest member, and with one attempt after another;
 * the last two are simulated without overhead, too.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { connect } from '../../src/client/connect.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { FinishedGroup, RequestGroup } from '../../src/protocol/groups.ts';
import { startMock } from './support/processes.ts';
import { ProductBench } from './support/product.ts';
import { rounds, spread, table } from './support/table.ts';
import { callSeed, latencyMs } from './support/work.ts';

const LATENCY = { medianMs: 300, sigma: 1.2 };
const TURNS = 3;
const GROUPS = 64;
const SIZE = 16;
const EXTRA = 4;
const LANES = 64;

const groupIds = Array.from({ length: GROUPS }, (_, n) => `step-${String(n).padStart(2, '0')}`);
const members = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

function chainMs(group: string, attempt: number): number {
  let sum = 0;
  for (let call = 1; call <= TURNS; call++) sum += latencyMs(callSeed(group, attempt, call), LATENCY);
  return sum;
}

/** Makespan of a greedy executor without overhead: groups in order, each ends with its first `SIZE` members. */
function idealMs(): number {
  const queue = groupIds.flatMap((group) => members(SIZE + EXTRA).map((attempt) => ({ group, attempt })));
  const done = new Map<string, number>();
  let running: { readonly group: string; readonly end: number }[] = [];
  let now = 0;
  for (;;) {
    while (running.length < LANES && queue.length > 0) {
      const next = queue.shift();
      if (next === undefined || (done.get(next.group) ?? 0) >= SIZE) continue;
      running.push({ group: next.group, end: now + chainMs(next.group, next.attempt) });
    }
    const [first] = running.sort((a, b) => a.end - b.end);
    if (first === undefined) return now;
    now = first.end;
    const count = (done.get(first.group) ?? 0) + 1;
    done.set(first.group, count);
    running = running.slice(1).filter(({ group }) => count < SIZE || group !== first.group);
  }
}

/** Steps of as many groups as fit into the lanes, without extra members: each waits for its slowest member. */
function naiveMs(): number {
  const atOnce = Math.floor(LANES / SIZE);
  let sum = 0;
  for (let at = 0; at < GROUPS; at += atOnce)
    sum += Math.max(
      ...groupIds.slice(at, at + atOnce).flatMap((group) => members(SIZE).map((attempt) => chainMs(group, attempt))),
    );
  return sum;
}

const sequentialMs = groupIds
  .flatMap((group) => members(SIZE).map((attempt) => chainMs(group, attempt)))
  .reduce((sum, ms) => sum + ms, 0);

interface Step {
  readonly ms: number;
  /** How long each request of the first step took, which opens the connections, and of this one. */
  readonly first: readonly number[];
  readonly submits: readonly number[];
  /** From the end of its last member to its arrival. */
  readonly delays: readonly number[];
  readonly rows: number;
  readonly cut: number;
}

async function step(): Promise<Step> {
  const mock = await startMock(LATENCY.medianMs, LATENCY.sigma, 1, TURNS);
  const bench = new ProductBench();
  try {
    bench.write({ tasks: GROUPS, attempts: 1, lanes: LANES, url: mock.url, stream: 'never' });
    const agent = path.join(bench.workspace, 'bench.agent.yaml');
    writeFileSync(
      agent,
      readFileSync(agent, 'utf8').replace(
        'stream: never',
        'stream: never, capture: { token_ids: true, logprobs: true }',
      ),
    );
    const sizes = ['--groups', String(SIZE), '--extra', String(EXTRA)];
    const { batch } = JSON.parse(await bench.rollout(['run', 'bench.batch.yaml', ...sizes, '--json'])) as {
      batch: string;
    };
    const { api } = await connect({ store: bench.store, start: false });
    // Its workers are running when the clock starts, and its connections are open, as in a trainer's second step. The
    // first one has a single attempt of each group.
    const first = await requestAll(
      api,
      groupIds.map((group, n) => ({ batch, group: `first-${group}`, task: `t${n}`, size: 1, extra: 0 })),
    );
    const [last] = (await readAll(api, batch)).slice(-1);
    const cursor = last?.group.cursor;

    const started = performance.now();
    const requested = requestAll(
      api,
      groupIds.map((group, n) => ({ batch, group, task: `t${n}` })),
    );
    const arrivals = await readAll(api, batch, cursor);
    const ms = performance.now() - started;
    const ends = new Map<string, number>();
    for await (const { rollout, progress } of api.allRollouts(batch)) ends.set(rollout, progress.ended_at ?? 0);
    await api.commandBatch(batch, { command: 'end', verb: 'cancel' });
    return {
      ms,
      first,
      submits: await requested,
      delays: arrivals.map(
        ({ group, at }) => at - Math.max(...group.members.map(({ rollout }) => ends.get(rollout) ?? 0)),
      ),
      rows: arrivals.reduce((sum, { group }) => sum + group.rows.length, 0),
      cut: arrivals.reduce((sum, { group }) => sum + group.cut.length, 0),
    };
  } finally {
    await bench.close();
    await mock.stop();
  }
}

/** Requests groups at once, and returns how long each request took. */
function requestAll(api: Api, groups: readonly RequestGroup[]): Promise<number[]> {
  return Promise.all(
    groups.map(async (group) => {
      const since = performance.now();
      await api.requestGroup(group);
      return performance.now() - since;
    }),
  );
}

/** Reads the feed as a trainer does, and notes when each group arrived. */
async function readAll(
  api: Api,
  batch: string,
  cursor?: string,
): Promise<{ readonly group: FinishedGroup; readonly at: number }[]> {
  const arrivals: { group: FinishedGroup; at: number }[] = [];
  let after = cursor;
  while (arrivals.length < GROUPS) {
    const groups = await api.finishedGroups(batch, { ...(after === undefined ? {} : { after }), wait: 60 });
    const at = Date.now();
    for (const group of groups) {
      if (group.state !== 'complete') throw new Error(`${group.group} is ${group.state}: ${group.why ?? ''}`);
      arrivals.push({ group, at });
      after = group.cursor;
    }
  }
  return arrivals;
}

const percentile = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;

const [ideal, naive] = [idealMs(), naiveMs()];
const steps: Step[] = [];
for (let round = 0; round < rounds(1); round++) steps.push(await step());
const of = (value: (one: Step) => number, digits: number): string => spread(steps.map(value), digits);
const count = GROUPS * (SIZE + EXTRA);
console.log(
  table(
    [
      ['measure (min / median / max)', 'product', 'bound'],
      [`submit of ${GROUPS} groups at once, p95, ms`, of(({ submits }) => percentile(submits, 0.95), 0), '50'],
      [
        'the same in the first step, which opens its connections, ms',
        of(({ first }) => percentile(first, 0.95), 0),
        '',
      ],
      ['group in the feed after its last member, p50, ms', of(({ delays }) => percentile(delays, 0.5), 0), ''],
      ['group in the feed after its last member, max, ms', of(({ delays }) => Math.max(...delays), 0), '250'],
      ['step / schedule without overhead', of(({ ms }) => ms / ideal, 3), '1.05'],
      ['naive steps with a barrier / step', of(({ ms }) => naive / ms, 2), '1.5'],
      ['one after another / step', of(({ ms }) => sequentialMs / ms, 1), '14.6'],
      ['step, s', of(({ ms }) => ms / 1000, 1), ''],
      ['rows', of(({ rows }) => rows, 0), ''],
      [`cut off, of ${count}`, of(({ cut }) => cut, 0), ''],
    ],
    [1, 2],
  ),
);
console.log(
  `Without overhead: ${(ideal / 1000).toFixed(1)} s in one step, ${(naive / 1000).toFixed(1)} s in naive ones, ` +
    `${(sequentialMs / 1000).toFixed(0)} s one after another. ${GROUPS} groups of ${SIZE} + ${EXTRA}, ${LANES} lanes.`,
);

/**
 * SIGKILL of workers, runners, and sessions at seeded moments, in calls and while a judge is asked. Every database ends
 * as if nothing had happened, no recorded answer is asked for again, and nothing is left behind.
 */
import assert from 'node:assert/strict';
import { globSync, rmSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Deferred, deferred } from '../../src/common/abort.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { hasEnded } from '../support/cli.ts';
import { assertWhole, eventsOf } from '../support/directed.ts';
import { answerText, chatEndpoint, type FakeEndpoint } from '../support/endpoint.ts';
import { Random } from '../support/random.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { countRows, type Rows, rowsOf } from './support/databases.ts';
import { savedDatabase, submitGardens, writeGardenBatch } from './support/gardenBatch.ts';
import { garden, replaced } from './support/gardenFolder.ts';
import { worldProcesses } from './support/processes.ts';

const TASKS = 4;
const HARVESTS = 18;
/** Requests of an agent: a step for each call, and the answer. */
const STEPS = HARVESTS + 3;
const VERDICT = JSON.stringify({ classification: 'complete', explanation: 'The plot is assigned.' });
const AGENTS = ['session', 'runner', 'session', 'worker', 'runner', 'session'] as const;
const JUDGES = ['worker', 'runner'] as const;

type Victim = (typeof AGENTS)[number];

/** Requests that were sent, and what waits for a number of them. */
class Requests {
  /** Seeds, which tell requests apart, in the order in which they were sent. */
  readonly seeds: number[] = [];
  #at = Infinity;
  #reached: Deferred<undefined> = deferred();

  add(seed: unknown): void {
    this.seeds.push(Number(seed));
    if (this.seeds.length >= this.#at) this.#reached.resolve(undefined);
  }

  async reach(count: number): Promise<void> {
    if (this.seeds.length >= count) return;
    this.#at = count;
    this.#reached = deferred();
    await this.#reached.promise;
  }
}

let folder: string;
let demo: WatchedDemo;
let judge: FakeEndpoint;
let random: Random;
let ofAgents = new Requests();
let ofJudge = new Requests();

before(async () => {
  random = new Random();
  demo = await watchedDemo((body) => ofAgents.add(body['seed']));
  judge = await chatEndpoint(async ({ body }, response) => {
    ofJudge.add(body['seed']);
    await sleep(100); // latency of a model, in which the kills happen
    answerText(response, VERDICT);
  });
  const published = garden();
  // The kills happen in these calls: rows are written, and not yet committed.
  published.code = `import time\n${replaced(
    published.code,
    '        db.add(row)\n        db.commit()\n        return HarvestOut',
    '        db.add(row)\n        db.flush()\n        time.sleep(0.03)\n        db.commit()\n        return HarvestOut',
  )}`;
  const questions = Object.fromEntries(
    Array.from({ length: TASKS }, (_, at) => [
      `t${at}`,
      [
        `call record_harvest {"planting_id": 1, "kilograms": ${at + 1}} times ${HARVESTS}`,
        'call assign_plot {"plot_id": 3, "gardener_id": 3}',
        `call update_planting {"planting_id": 2, "notes": "note of ${at}"}`,
        'answer done',
      ].join('\n'),
    ]),
  );
  folder = await writeGardenBatch({ questions, published, agent: demo.url, judge: judge.url });
});

after(async () => {
  await demo.close();
  await judge[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns all rows of the final database of each task, read from the stored states. */
async function finalRows(server: TestServer, batch: string): Promise<Record<string, Rows>> {
  const found: Record<string, Rows> = {};
  for (const row of (await server.api.rollouts(batch)).rollouts) {
    const events = await eventsOf(server, row.rollout);
    assertWhole(events);
    const failed = events.flatMap((event) => {
      const error = event.kind === 'tool.end' ? event.data.error : undefined;
      return error === undefined || error.class === 'infrastructure' ? [] : [`${error.class}: ${error.message}`];
    });
    assert.deepEqual(failed, [], `calls failed in ${row.task}`);
    assert.deepEqual([row.progress.status, row.progress.passed, row.try], ['done', true, 1], JSON.stringify(row));
    found[row.task] = rowsOf(await savedDatabase(server, events));
  }
  return found;
}

/** Returns the seeds of the requests whose answers are recorded, and how often each was answered. */
async function answered(server: TestServer, batch: string): Promise<Map<number, number>> {
  const counts = new Map<number, number>();
  for (const { rollout } of (await server.api.rollouts(batch)).rollouts) {
    const starts = new Map<number, number>();
    for (const event of await eventsOf(server, rollout)) {
      if (event.kind === 'model.start') starts.set(event.seq, Number(event.data.sampling['seed']));
      const seed = event.kind === 'model.end' ? starts.get(event.span ?? 0) : undefined;
      if (seed !== undefined && isLiveAnswer(event)) counts.set(seed, (counts.get(seed) ?? 0) + 1);
    }
  }
  return counts;
}

function isLiveAnswer(event: TraceEvent): boolean {
  return event.kind === 'model.end' && event.data.error === undefined && event.data.source !== 'recorded';
}

describe('a batch over a code world whose processes are killed', { timeout: 240_000 }, () => {
  let undisturbed: Record<string, Rows>;

  before(async () => {
    await using store = new TestStore();
    const server = await store.start();
    const batch = await submitGardens(folder, server);
    await using worker = await TestWorker.start(store, server, batch);
    assert.equal(await worker.exited, 0, worker.stderr);
    undisturbed = await finalRows(server, batch);
    assert.deepEqual([ofAgents.seeds.length, ofJudge.seeds.length], [TASKS * STEPS, TASKS]);
    assert.equal(Object.keys(undisturbed).length, TASKS);
    for (const rows of Object.values(undisturbed)) assert.ok((rows['harvests']?.length ?? 0) >= HARVESTS);
  });

  test('ends as if it had run undisturbed', { skip: process.platform === 'win32' }, async (t) => {
    t.diagnostic(`TEST_SEED=${random.seed}`);
    ofAgents = new Requests();
    ofJudge = new Requests();
    await using store = new TestStore();
    const server = await store.start();
    const batch = await submitGardens(folder, server);
    await using stack = new AsyncDisposableStack();
    const start = async (): Promise<TestWorker> => stack.use(await TestWorker.start(store, server, batch));
    let worker = await start();
    const pids = new Set<number>();
    const killed: string[] = [];
    const sent = (): number[] => [...ofAgents.seeds, ...ofJudge.seeds];
    /** Recorded answers when a worker was killed, and how often each request had been sent. */
    const kept: { readonly recorded: ReadonlySet<number>; readonly sent: readonly number[] }[] = [];
    const pick = (from: readonly number[]): number | undefined => from[Math.floor(random.next() * from.length)];
    const kill = async (victim: Victim, where: string): Promise<void> => {
      killed.push(`${victim} ${where}`);
      for (;;) {
        const { runners, sessions } = worldProcesses(worker.process.pid);
        for (const pid of [...runners, ...sessions]) pids.add(pid);
        if (victim === 'worker') break;
        const pid = pick(victim === 'runner' ? runners : sessions);
        if (pid !== undefined) return void process.kill(pid, 'SIGKILL');
        assert.equal(worker.process.exitCode, null, 'the worker ended before it could be disturbed');
        await sleep(20); // a new worker has none yet, and the system tells nobody when it does
      }
      await worker.kill();
      kept.push({ recorded: new Set((await answered(server, batch)).keys()), sent: sent() });
      worker = await start();
    };
    const order = [...AGENTS].sort(() => random.next() - 0.5);
    for (const [at, moment] of random.moments(order.length, TASKS * 2, TASKS * STEPS * 0.85).entries()) {
      await Promise.race([ofAgents.reach(Math.round(moment)), worker.exited]);
      await sleep(random.next() * 60); // anywhere in a call
      await kill(order[at] ?? 'session', 'in the calls of agents');
    }
    for (const [at, victim] of [...JUDGES].sort(() => random.next() - 0.5).entries()) {
      await Promise.race([ofJudge.reach(at * 2 + 1), worker.exited]);
      await sleep(random.next() * 90); // while the judge is asked
      await kill(victim, 'while the judge is asked');
    }
    assert.equal(await worker.exited, 0, worker.stderr);

    assert.deepEqual(await finalRows(server, batch), undisturbed);
    const answers = await answered(server, batch);
    assert.deepEqual(new Set(answers.values()), new Set([1]), 'a request was answered twice');
    assert.deepEqual([answers.size, new Set(sent()).size], [TASKS * (STEPS + 1), TASKS * (STEPS + 1)]);
    const repeated = kept.map(({ recorded, sent: before }) => {
      const times = (seeds: readonly number[]): number => seeds.filter((seed) => recorded.has(seed)).length;
      return times(sent()) - times(before);
    });
    assert.deepEqual(new Set(repeated), new Set([0]), 'a recorded answer was asked for again');
    const left: number[] = [];
    for (const pid of pids) if (!(await hasEnded(pid, 5_000))) left.push(pid);
    assert.deepEqual(left, [], 'processes are left');
    assert.deepEqual(globSync('work/**/sessions/*', { cwd: store.folder }), [], 'folders are left');
    const rows = Object.values(undisturbed).reduce((sum, one) => sum + countRows(one), 0);
    t.diagnostic(
      `killed ${killed.length} (${killed.join(', ')}): ${rows} rows of ${TASKS} databases equal; ` +
        `${kept.map(({ recorded }) => recorded.size).join(' and ')} answers were recorded when workers were killed, ` +
        `${repeated.join(' and ')} of them asked for again; ${sent().length - answers.size} open questions sent again`,
    );
  });
});

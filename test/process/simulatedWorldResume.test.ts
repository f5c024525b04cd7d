/**
 * A world that a model plays, in workers that are killed at seeded moments, forked at a step, and edited inside the
 * model's reply. The bodies that the endpoint received prove that nothing was asked twice, and what the agent saw.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../src/common/ids.ts';
import { canonicalJson, type JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { Fork } from '../../src/protocol/client.ts';
import type { EventOf, TraceEvent } from '../../src/trace/schema.ts';
import { assertWhole, eventsOf, submission, task, until } from '../support/directed.ts';
import { answerText, bodiesOf, chatEndpoint, type FakeEndpoint, turnsOf } from '../support/endpoint.ts';
import { KilledWorkers } from '../support/killedWorkers.ts';
import { Random } from '../support/random.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { countSideCalls, RepeatedQuestions } from '../support/sideCalls.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { responses } from '../support/worldCalls.ts';

const TASKS = 8;
const KILLS = 3;
const TITLES = ['Emma', 'Persuasion', 'Sanditon', 'Evelina', 'Cecilia'];

/** Calls that no two tasks have in common. */
const question = (of: string): string =>
  [...TITLES.map((title) => `call find {"title": "${title} ${of}"}`), 'answer done'].join('\n');

const observationOf = (turn: number): string => `observation ${turn}`;

/** A batch whose world is played by the endpoint; its agents are the demo model. */
function simulated(endpoint: FakeEndpoint): Submission {
  const plain = submission({ attempts: 1 });
  return {
    ...plain,
    agent: { ...plain.agent, tools: [] },
    world: {
      name: 'desk',
      file: 'desk.world.yaml',
      kind: 'simulated',
      domain: 'mcp',
      model: { ...plain.agent.model, endpoints: [endpoint.url], name: 'world-model' },
      definitions: [{ name: 'find', description: 'Finds a book.', parameters: { type: 'object' } }],
      texts: { state: 'All books are on their shelves.' },
      perturb: [],
    },
  };
}

/** Plays the world: the n-th turn is answered with `observation n`. */
function worldModel(before: () => Promise<void> = () => Promise.resolve()): Promise<FakeEndpoint> {
  return chatEndpoint(async ({ body }, response) => {
    await before();
    answerText(response, `<think>turn ${turnsOf(body)}</think>${observationOf(turnsOf(body))}`);
  });
}

describe('a simulated world', { timeout: 480_000 }, () => {
  it('is asked nothing again that is recorded, after kills at seeded moments @deep', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    await using store = new TestStore();
    const server = await store.start();
    const workers = new KilledWorkers(random);
    await using model = await worldModel(async () => {
      workers.received();
      await sleep(5 + random.next() * 40); // model latency
    });
    const tasks = Array.from({ length: TASKS }, (_, at) => task(`t${at}`, question(String(at)), 'done'));
    const batch = await server.submit(simulated(model), tasks);
    const questions = new RepeatedQuestions(server, batch, 'world');
    await workers.run(store, server, batch, {
      count: KILLS,
      requests: TASKS * TITLES.length * 0.9,
      after: () => questions.count(bodiesOf(model)),
    });

    const { rollouts } = await server.api.rollouts(batch);
    assert.equal(rollouts.length, TASKS);
    let lost = 0;
    for (const { rollout, progress } of rollouts) {
      assert.deepEqual([progress.status, progress.passed, progress.side?.calls], ['done', true, TITLES.length]);
      const events = await eventsOf(server, rollout);
      assertWhole(events);
      assert.deepEqual(
        responses(events),
        TITLES.map((_, index) => observationOf(index + 1)),
      );
      for (const [seed, one] of countSideCalls(events, 'world')) {
        assert.equal(one.answered, 1, `seed ${seed}`);
        lost += one.lost;
      }
    }
    test.diagnostic(
      `killed ${KILLS} times, with ${questions.known} recorded replies: ` +
        `${questions.repeated} of them asked again; ${lost} open requests ` +
        `lost; ${bodiesOf(model).length} requests for ${TASKS * TITLES.length} calls`,
    );
    assert.equal(questions.repeated, 0, 'requests repeated for recorded calls');
  });

  it('is forked at a step and edited in its reply: the agent sees the edit, and nothing is asked twice', async () => {
    await using store = new TestStore();
    const server = await store.start();
    await using model = await worldModel();
    let bodies = 0;
    /** Runs a batch to its end. Returns what the endpoint received meanwhile. */
    const run = async (batch: string, meanwhile?: () => Promise<void>): Promise<JsonObject[]> => {
      await using worker = await TestWorker.start(store, server, batch);
      await meanwhile?.();
      assert.equal(await worker.exited, 0, worker.stderr);
      const received = bodiesOf(model).slice(bodies);
      bodies += received.length;
      return received;
    };
    const fork = async (of: string, step: number, more: Partial<Fork> = {}): Promise<string> => {
      const start = (await eventsOf(server, of)).find(
        (event) => event.kind === 'model.start' && event.data.side === undefined && event.data.step === step,
      );
      assert.ok(start !== undefined);
      return (await server.api.fork({ batch: newId('b'), rollout: of, seq: start.seq - 1, attempts: 1, ...more }))
        .batch;
    };
    const rolloutsOf = async (batch: string): Promise<string[]> =>
      (await server.api.rollouts(batch)).rollouts.map(({ rollout }) => rollout);

    const batch = await server.submit(simulated(model), [task('it', question('here'), 'done')]);
    assertGrows(await run(batch));
    const [first] = await rolloutsOf(batch);
    assert.deepEqual(responses(await eventsOf(server, first!)), [1, 2, 3, 4, 5].map(observationOf));

    const breakpoint = { id: 'reply', kind: 'model', side: 'after', when: 'side == "world" && step == 2' } as const;
    const edited = await fork(first!, 2, { breakpoints: [breakpoint], debug: true });
    const received = await run(edited, async () => {
      const held = await until(server, edited, (events) => events.at(-1)?.kind === 'hold');
      const { m, parts } = replyBefore(held.events).data;
      const path = `/parts/${parts.findIndex(({ type }) => type === 'text')}/content`;
      const command = (verb: 'edit' | 'release', args: JsonObject): Promise<unknown> =>
        server.api.commandRollout(held.rollout, { command: newId('c'), verb, args });
      await command('edit', { of: { m }, path, value: 'nobody has it' });
      await command('release', {});
    });
    const [second] = await rolloutsOf(edited);
    const seen = [observationOf(1), 'nobody has it', ...[3, 4, 5].map(observationOf)];
    assert.deepEqual(responses(await eventsOf(server, second!)), seen);
    assert.deepEqual(received.map(turnsOf), [2, 3, 4, 5], 'the calls after the fork point');
    assertGrows(received);
    assert.ok(canonicalJson(received[1]!).includes('nobody has it'), 'the world continues from what the agent saw');
    assert.ok(!canonicalJson(received[1]!).includes(observationOf(2)));

    const branches = await fork(second!, 4, { attempts: 2 });
    const later = await run(branches);
    for (const rollout of await rolloutsOf(branches))
      assert.deepEqual(responses(await eventsOf(server, rollout)), seen);
    assert.deepEqual(later.map(turnsOf).sort(), [4, 4, 5, 5], 'the calls after the fork point');
    for (const body of later) assert.ok(canonicalJson(body).includes('nobody has it'));
  });
});

/** The reply of the call that is held after its end. */
function replyBefore(events: readonly TraceEvent[]): EventOf<'message'> {
  const reply = events.findLast((event) => event.kind === 'message' && event.data.role === 'assistant');
  assert.ok(reply?.kind === 'message');
  return reply;
}

/** Each request begins with the messages of the previous one. */
function assertGrows(bodies: readonly JsonObject[]): void {
  for (const [index, body] of bodies.entries()) {
    const before = (bodies[index - 1]?.['messages'] ?? []) as JsonObject[];
    assert.deepEqual((body['messages'] as JsonObject[]).slice(0, before.length), before);
  }
}

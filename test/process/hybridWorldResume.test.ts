/**
 * A world with real, simulated, and overlaid tools, in workers that are killed at seeded moments: the real state is
 * restored, the model is asked nothing again that is recorded, and simulated calls never reach the real world.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import { bundleModule } from '../../src/tools/bundle.ts';
import { assertWhole, eventsOf, NO_SANDBOX, submission, task } from '../support/directed.ts';
import { answerText, bodiesOf, chatEndpoint } from '../support/endpoint.ts';
import { KilledWorkers } from '../support/killedWorkers.ts';
import { Random } from '../support/random.ts';
import { type TestServer, TestStore } from '../support/rolloutServer.ts';
import { countSideCalls, RepeatedQuestions } from '../support/sideCalls.ts';
import { responses } from '../support/worldCalls.ts';

const TASKS = 8;
const KILLS = 3;

const question = (at: number): string =>
  [
    'call add {"n": 1}',
    'call look {}',
    `call take {"n": ${at}}`,
    'call look {}',
    'call add {"n": 2}',
    'call look {}',
    'answer done',
  ].join('\n');

/** What the agent sees: real sums, the real look, and what the model makes of a simulated call and of later looks. */
const SEEN = [{ value: 1 }, { value: 1 }, 'taken', 'after {"value":1}', { value: 3 }, 'after {"value":3}'];
const ASKED = SEEN.filter((one) => typeof one === 'string').length;

/** A counter that writes down its calls. */
const counter = (calls: string): string => `
import { appendFileSync } from 'node:fs';
import { tool } from 'rollout-studio';
import { z } from 'zod';
const called = (name) => appendFileSync(${JSON.stringify(calls)}, name + '\\n');
const change = (name, by) => tool({ description: name, input: z.object({ n: z.number() }), effect: 'restorable',
  run: ({ n }, { state }) => { called(name); return { value: (state.value += by * n) }; } });
const look = tool({ description: 'Looks.', input: z.object({}), effect: 'pure',
  run: (_, { state }) => { called('look'); return { value: state.value }; } });
export const open = () => ({ state: { value: 0 }, tools: { add: change('add', 1), take: change('take', -1), look } });
`;

const lastMessage = ({ messages }: JsonObject): string => (messages as JsonObject[]).at(-1)?.['content'] as string;

async function hybrid(server: TestServer, folder: string, endpoint: string, calls: string): Promise<Submission> {
  const file = path.join(folder, 'counter.ts');
  writeFileSync(file, counter(calls));
  const { bundleSha, mapSha, code, map } = await bundleModule(file, folder);
  await server.api.putBlob(bundleSha, code);
  await server.api.putBlob(mapSha, map);
  const plain = submission({ attempts: 1, sandbox: NO_SANDBOX });
  const common = { file: 'practice.world.yaml', perturb: [] };
  const module = { file: 'counter.ts', bundle: bundleSha, map: mapSha };
  return {
    ...plain,
    agent: { ...plain.agent, tools: [] },
    world: {
      ...common,
      name: 'practice',
      kind: 'simulated',
      domain: 'mcp',
      model: { ...plain.agent.model, endpoints: [endpoint], name: 'world-model' },
      definitions: [],
      texts: {},
      worlds: { real: { ...common, name: 'counter', kind: 'module', module } },
      route: [
        { tools: ['add'], by: 'real' },
        { tools: ['look'], by: 'overlay' },
      ],
    },
  };
}

describe('a hybrid world', { timeout: 480_000 }, () => {
  it('continues with its real and its simulated state after kills at seeded moments @deep', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    await using store = new TestStore();
    const server = await store.start();
    const workers = new KilledWorkers(random);
    await using model = await chatEndpoint(async ({ body }, response) => {
      workers.received();
      await sleep(5 + random.next() * 40); // model latency
      const real = /\*\*Real Result:\*\*\n(.*)$/.exec(lastMessage(body))?.[1];
      answerText(response, real === undefined ? 'taken' : `after ${real}`);
    });
    const calls = path.join(store.folder, 'calls');
    const practice = await hybrid(server, store.folder, model.url, calls);
    const tasks = Array.from({ length: TASKS }, (_, at) => task(`t${at}`, question(at), 'done'));
    const batch = await server.submit(practice, tasks);
    const questions = new RepeatedQuestions(server, batch, 'world');
    await workers.run(store, server, batch, {
      count: KILLS,
      requests: TASKS * ASKED * 0.9,
      after: () => questions.count(bodiesOf(model)),
    });

    const { rollouts } = await server.api.rollouts(batch);
    assert.equal(rollouts.length, TASKS);
    for (const { rollout, progress } of rollouts) {
      assert.deepEqual([progress.status, progress.passed, progress.side?.calls], ['done', true, ASKED]);
      const events = await eventsOf(server, rollout);
      assertWhole(events);
      assert.deepEqual(responses(events), SEEN);
      for (const [seed, { answered }] of countSideCalls(events, 'world')) assert.equal(answered, 1, `seed ${seed}`);
    }
    const called = readFileSync(calls, 'utf8').trim().split('\n');
    const count = (name: string): number => called.filter((one) => one === name).length;
    test.diagnostic(
      `killed ${KILLS} times, with ${questions.known} recorded replies: ${questions.repeated} of them asked again; ` +
        `${bodiesOf(model).length} requests for ${TASKS * ASKED} replies; ${count('add')} real additions for ` +
        `${TASKS * 2}, ${count('look')} looks for ${TASKS * 3}`,
    );
    assert.equal(questions.repeated, 0, 'requests repeated for recorded calls');
    assert.equal(count('take'), 0, 'simulated calls that reached the real world');
    assert.ok(count('add') >= TASKS * 2 && count('look') >= TASKS * 3);
  });
});

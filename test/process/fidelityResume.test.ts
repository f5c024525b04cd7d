/**
 * A comparison with recordings in workers that are killed at seeded moments: the bodies that the endpoint received
 * prove that nothing was asked twice, and each call has one prediction.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { planFidelity } from '../../src/client/fidelity/plan.ts';
import { launch } from '../../src/client/launch.ts';
import { assertWhole, eventsOf, submission, task } from '../support/directed.ts';
import { answerText, bodiesOf, chatEndpoint, turnsOf } from '../support/endpoint.ts';
import { KilledWorkers } from '../support/killedWorkers.ts';
import { Random } from '../support/random.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { RepeatedQuestions } from '../support/sideCalls.ts';
import { ofKind } from '../support/testWorkspace.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { responses } from '../support/worldCalls.ts';

const TASKS = 8;
const CALLS = 5;
/** Each costs the time after which a worker counts as lost. */
const KILLS = { forced: 3, free: 1 };

/** Sums that no two tasks have in common. */
const question = (of: number): string =>
  [...Array.from({ length: CALLS }, (_, n) => `call calculate {"expression": "${of} + ${n}"}`), 'answer 42'].join('\n');

describe('a comparison with recordings', { timeout: 480_000 }, () => {
  for (const how of ['forced', 'free'] as const)
    it(`is asked nothing again that is recorded, after kills at seeded moments, ${how} @deep`, async (test) => {
      const random = new Random();
      test.diagnostic(`TEST_SEED=${random.seed}`);
      await using store = new TestStore();
      const server = await store.start();
      const workers = new KilledWorkers(random);
      await using model = await chatEndpoint(async ({ body }, response) => {
        workers.received();
        await sleep(5 + random.next() * 40); // model latency
        answerText(response, `observation ${turnsOf(body)}`);
      });
      const tasks = Array.from({ length: TASKS }, (_, at) => task(`t${at}`, question(at), '42'));
      const recorded = await server.submit(submission({ attempts: 1 }), tasks);
      await using first = await TestWorker.start(store, server, recorded);
      assert.equal(await first.exited, 0, first.stderr);

      const world = {
        ...{ version: 1, name: 'sums', kind: 'simulated', model: { endpoint: model.url, name: 'm' } },
        tools: [{ builtin: ['calculator'] }],
      };
      writeFileSync(path.join(store.folder, 'sums.world.yaml'), JSON.stringify(world));
      const { signal } = new AbortController();
      const plan = await planFidelity(
        server.api,
        { references: [recorded], world: 'sums.world.yaml', free: how === 'free' },
        { cwd: store.folder, env: {} },
        signal,
      );
      const batch = await launch(server.api, plan);
      const questions = new RepeatedQuestions(server, batch, 'shadow');
      await workers.run(store, server, batch, {
        count: KILLS[how],
        requests: TASKS * CALLS * 0.9,
        after: () => questions.count(bodiesOf(model)),
      });

      const before = await server.api.rollouts(recorded);
      const { rollouts } = await server.api.rollouts(batch);
      assert.equal(rollouts.length, TASKS);
      for (const { rollout, task: of, progress } of rollouts) {
        const events = await eventsOf(server, rollout);
        assertWhole(events);
        assert.equal(progress.status, 'done');
        const original = before.rollouts.find((row) => `${row.task}/1` === of);
        assert.deepEqual(responses(events), responses(await eventsOf(server, original?.rollout ?? '')));
        const scores = ofKind(events, 'score').filter(({ data }) => data.prediction !== undefined);
        const calls = ofKind(events, 'tool.start').filter(({ seq }) =>
          events.some(({ kind, span, ...rest }) => kind === 'tool.end' && span === seq && !isLost(rest)),
        );
        assert.deepEqual(
          scores.map(({ span }) => span),
          calls.map(({ seq }) => seq),
          'one prediction for each call',
        );
        assert.deepEqual(
          scores.map(({ data }) => data.prediction?.response),
          Array.from({ length: CALLS }, (_, at) => `observation ${at + 1}`),
        );
      }
      // What the world continues from: what was really seen, or its own answers.
      for (const { messages } of bodiesOf(model)) {
        const seen = (messages as { role: string; content: string }[]).filter(({ role }) => role === 'assistant');
        for (const { content } of seen)
          assert.match(content, how === 'free' ? /observation \d/ : /^(?!.*observation)/s);
      }
      test.diagnostic(
        `killed ${KILLS[how]} times, with ${questions.known} recorded replies: ` +
          `${questions.repeated} of them asked again; ${bodiesOf(model).length} requests for ${TASKS * CALLS} calls`,
      );
      assert.ok(questions.known > 0);
      assert.equal(questions.repeated, 0, 'requests repeated for recorded calls');
    });
});

/** Whether a call was lost with its worker, and made again. */
function isLost({ data }: object & { readonly data?: unknown }): boolean {
  return (data as { readonly error?: { readonly class?: string } } | undefined)?.error?.class === 'infrastructure';
}

/**
 * SIGKILL of workers at seeded moments, inside tool calls and inside the side calls of their code. The endpoint counts:
 * no recorded side call is sent again, and every world ends as if nothing had happened.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../src/common/json.ts';
import type { SubmittedModule } from '../../src/config/submission.ts';
import { bundleModule } from '../../src/tools/bundle.ts';
import { assertWhole, eventsOf, submission, task } from '../support/directed.ts';
import { answerText, fakeEndpoint } from '../support/endpoint.ts';
import { KilledWorkers } from '../support/killedWorkers.ts';
import { Random } from '../support/random.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { countSideCalls, RepeatedQuestions } from '../support/sideCalls.ts';
import { FIXTURES } from '../support/tools.ts';

const TASKS = 8;
const NOTES = ['red', 'green', 'blue'];
const KILLS = 2;

const isCall = (path: string): boolean => path.endsWith('/chat/completions');
const lastText = ({ messages }: JsonObject): string => {
  const last = (messages as { content: string }[]).at(-1)!;
  return last.content;
};

describe('a worker that is killed while tools ask models', () => {
  it('is replaced by one that sends nothing again that is recorded', { timeout: 240_000 }, async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    await using store = new TestStore();
    const server = await store.start();
    const workers = new KilledWorkers(random);
    await using judge = await fakeEndpoint(async ({ path: url, body }, response) => {
      if (!isCall(url)) {
        response.writeHead(404).end();
        return;
      }
      workers.received();
      await sleep(5 + random.next() * 40); // model latency
      answerText(response, lastText(body).toUpperCase());
    });
    const bundle = await bundleModule(path.join(FIXTURES, 'asking.world.ts'), FIXTURES);
    await server.api.putBlob(bundle.bundleSha, bundle.code);
    await server.api.putBlob(bundle.mapSha, bundle.map);
    const module: SubmittedModule = { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha };
    const plain = submission({ attempts: 1 });
    const model = { ...plain.agent.model, endpoints: [judge.url], name: 'judge' };
    const tasks = Array.from({ length: TASKS }, (_, at) => {
      const calls = NOTES.flatMap((note) => [
        `call note {"text": "${note} ${at}"}`,
        `call patient {"text": "${note} of ${at}"}`,
      ]);
      return task(`t${at}`, [...calls, 'answer done'].join('\n'), 'done');
    });
    const batch = await server.submit(
      {
        ...plain,
        agent: { ...plain.agent, tools: [{ kind: 'module', module, models: { judge: model } }] },
        world: {
          name: 'notes',
          file: 'notes.world.yaml',
          kind: 'module',
          module,
          models: { judge: model },
          perturb: [],
        },
        scorer: { kind: 'world' },
      },
      tasks,
    );
    const perRollout = NOTES.length * 3 + 1;
    const requests = (): JsonObject[] => judge.seen.filter(({ path: url }) => isCall(url)).map(({ body }) => body);
    const questions = new RepeatedQuestions(server, batch, 'judge');
    await workers.run(store, server, batch, {
      count: KILLS,
      requests: TASKS * perRollout * 0.9,
      after: () => questions.count(requests()),
    });

    const { rollouts } = await server.api.rollouts(batch);
    assert.equal(rollouts.length, TASKS);
    let lost = 0;
    let copies = 0;
    for (const row of rollouts) {
      assert.deepEqual([row.progress.status, row.progress.passed, row.try], ['done', true, 1]);
      const events = await eventsOf(server, row.rollout);
      assertWhole(events);
      for (const [seed, of] of countSideCalls(events, 'judge')) {
        assert.equal(of.answered, 1, `seed ${seed}`);
        lost += of.lost;
        copies += of.copies;
      }
      const score = events.find((event) => event.kind === 'score');
      const at = row.task.slice(1);
      assert.equal(
        score?.kind === 'score' ? score.data.explanation : undefined,
        NOTES.map((note) => `${note} ${at}`.toUpperCase()).join(' '),
      );
      assert.deepEqual([row.progress.side?.calls, row.progress.steps], [perRollout, 2 * NOTES.length + 1]);
    }
    test.diagnostic(
      `killed ${KILLS} times, with ${questions.known} recorded answers: ` +
        `${questions.repeated} of them asked again, ${copies} used again ` +
        `in their tool call, ${lost} open questions lost`,
    );
    assert.equal(questions.repeated, 0, 'side calls repeated after a SIGKILL for tool calls already recorded');
  });
});

/** A world that predicts the calls of another one, in real workers that are killed at seeded moments. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson, type JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { EventOf, TraceEvent } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';
import { assertWhole, eventsOf, submission, task } from '../support/directed.ts';
import { answerText, fakeEndpoint } from '../support/endpoint.ts';
import { Random } from '../support/random.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

const TASKS = 6;
const CALLS = 4;
const KILLS = 2;

const isShadow = (body: JsonObject): boolean => body['model'] === 'twin-model' || body['model'] === 'critic-model';
const MARKS = { format: 5, factuality: 4, consistency: 5, realism: 4, quality: 4 };

describe('a shadow', { timeout: 240_000 }, () => {
  it('predicts each call once and scores it once, although its worker is killed repeatedly @deep', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    await using store = new TestStore();
    const server = await store.start();
    let sent = 0;
    let killAt = Infinity;
    let reached = Promise.withResolvers<undefined>();
    await using models = await fakeEndpoint(async ({ path: url, body }, response) => {
      if (!url.endsWith('/chat/completions')) {
        response.writeHead(404).end();
        return;
      }
      if (isShadow(body) && ++sent >= killAt) reached.resolve(undefined);
      await sleep(3 + random.next() * 20); // model latency
      const turn = (body['messages'] as JsonObject[]).filter(({ role }) => role === 'user').length;
      if (body['model'] === 'critic-model')
        answerText(
          response,
          `<final_evaluation>\n\`\`\`json\n` +
            `${JSON.stringify({ strengths: [], weaknesses: [], scores: MARKS })}\n\`\`\`\n</final_evaluation>`,
        );
      else answerText(response, body['model'] === 'twin-model' ? `{"turn": ${turn}, "more": 1}` : `{"turn": ${turn}}`);
    });
    const plain = submission({ attempts: 1 });
    const model = (name: string) => ({ ...plain.agent.model, endpoints: [models.url], name });
    const definitions = [{ name: 'find', description: 'find', parameters: { type: 'object' } }];
    const simulated = (name: string): NonNullable<Submission['world']> => ({
      name,
      file: `${name}.world.yaml`,
      kind: 'simulated',
      domain: 'mcp',
      model: model(`${name}-model`),
      definitions,
      texts: {},
      perturb: [],
    });
    const world: Submission['world'] = {
      ...simulated('desk'),
      shadow: { judge: model('critic-model') },
      worlds: { shadow: simulated('twin') },
    };
    const tasks = Array.from({ length: TASKS }, (_, at) => {
      const calls = Array.from({ length: CALLS }, (_, n) => `call find {"task": ${at}, "n": ${n}}`);
      return task(`t${at}`, [...calls, 'answer done'].join('\n'), 'done');
    });
    const batch = await server.submit({ ...plain, agent: { ...plain.agent, tools: [] }, world }, tasks);
    for (const moment of random.moments(KILLS, 2, TASKS * CALLS * 1.8).map(Math.round)) {
      killAt = Math.max(sent + 1, moment);
      reached = Promise.withResolvers<undefined>();
      await using worker = await TestWorker.start(store, server, batch);
      await Promise.race([reached.promise, worker.exited]);
      await sleep(random.next() * 30); // anywhere in a call
      await worker.kill();
    }
    killAt = Infinity;
    await using last = await TestWorker.start(store, server, batch);
    assert.equal(await last.exited, 0, last.stderr);

    const { rollouts } = await server.api.rollouts(batch);
    let copies = 0;
    for (const row of rollouts) {
      assert.deepEqual([row.progress.status, row.progress.passed, row.try], ['done', true, 1]);
      const events = await eventsOf(server, row.rollout);
      assertWhole(events);
      const scores = scoresOf(events);
      const ended = events.filter((event) => event.kind === 'tool.end' && event.data.error === undefined);
      assert.deepEqual(
        scores.map(({ span }) => span),
        ended.map(({ span }) => span),
        'one score for each call that has ended',
      );
      for (const [n, { data }] of scores.entries()) {
        assert.deepEqual(data.prediction, { world: 'twin', how: 'shadow', response: `{"turn": ${n + 1}, "more": 1}` });
        assert.equal(data.value?.toFixed(6), '0.850000'); // the mean mark 4.4, scaled
        assert.deepEqual([data.parts?.['factuality'], data.parts?.['keys']], [4, 0.5]);
      }
      // What is recorded is not asked again: each question has one answer of its endpoint.
      for (const agent of ['shadow', 'judge']) {
        const answered = events.filter((event) => event.kind === 'model.end' && event.agent === agent);
        const live = answered.filter((event) => event.kind === 'model.end' && isLive(event.data));
        assert.equal(live.length, CALLS, agent);
        copies += answered.length - live.length;
      }
    }
    const bodies = models.seen.filter(({ path: url }) => url.endsWith('/chat/completions')).map(({ body }) => body);
    const shadows = bodies.filter(isShadow);
    const distinct = new Set(shadows.map((body) => canonicalJson(body)));
    assert.equal(distinct.size, TASKS * CALLS * 2, 'each call is predicted and judged with one question');
    test.diagnostic(
      `${bodies.length} requests, ${shadows.length} of the shadow; ${copies} answers were used again or lost`,
    );
  });
});

function isLive({ status, source }: EventOf<'model.end'>['data']): boolean {
  return status === 'ok' && source === 'live';
}

function scoresOf(events: readonly TraceEvent[]): EventOf<'score'>[] {
  return events.filter((event): event is EventOf<'score'> => event.kind === 'score' && event.span !== undefined);
}

describe('the shadow of the sample’s library', { timeout: 180_000 }, () => {
  it('predicts the calls of the desk offline', async () => {
    const bench = new Bench();
    try {
      await bench.run(['init', 'desk'], { cwd: bench.folder });
      const cwd = bench.path('desk');
      const { batch } = await bench.json<{ batch: string }>(['run', 'batches/shadow.batch.yaml', '--attempts', '1'], {
        cwd,
      });
      const { stdout } = await bench.run(['show', `${batch}/borrow-one/1`], { cwd });
      assert.match(stdout, /score\s+\? 1 by prediction \(status 1, keys 1, deterministic 1, existing 1\)/);
    } finally {
      await bench.close();
    }
  });
});

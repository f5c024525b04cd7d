/** A world that predicts the calls of another one, in real workers that are killed at seeded moments. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { canonicalJson, type JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { EventOf, TraceEvent } from '../../src/trace/schema.ts';
import type { Report } from '../../src/trace/statistics/schema.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { Bench } from '../support/cli.ts';
import { assertWhole, eventsOf, submission, task } from '../support/directed.ts';
import { answerText, chatEndpoint } from '../support/endpoint.ts';
import { KilledWorkers } from '../support/killedWorkers.ts';
import { Random } from '../support/random.ts';
import { TestStore } from '../support/rolloutServer.ts';

const TASKS = 6;
const CALLS = 4;
const KILLS = 2;

const isShadow = (body: JsonObject): boolean => body['model'] === 'twin-model' || body['model'] === 'critic-model';
const MARKS = { format: 5, factuality: 4, consistency: 5, realism: 4, quality: 4 };

describe('a shadow', { timeout: 480_000 }, () => {
  it('predicts each call once and scores it once, although its worker is killed repeatedly @deep', async (test) => {
    const random = new Random();
    test.diagnostic(`TEST_SEED=${random.seed}`);
    await using store = new TestStore();
    const server = await store.start();
    const workers = new KilledWorkers(random);
    await using models = await chatEndpoint(async ({ body }, response) => {
      if (isShadow(body)) workers.received();
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
    await workers.run(store, server, batch, { count: KILLS, requests: TASKS * CALLS * 1.8 });

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

describe('the shadow of the sample’s library', { timeout: 480_000 }, () => {
  it('predicts the calls of the desk offline', async () => {
    const bench = new Bench();
    try {
      await bench.run(['init', 'desk'], { cwd: bench.folder });
      const cwd = bench.path('desk');
      const { batch } = await bench.json<{ batch: string }>(['run', 'batches/shadow.batch.yaml', '--attempts', '1'], {
        cwd,
      });
      const { stdout } = await bench.run(['show', `${batch}/borrow-one/1`], { cwd });
      assert.match(
        stdout,
        /predicted {2}as it happened\s+by library-sim, status 100%, keys 100%, deterministic values 100%/,
      );
    } finally {
      await bench.close();
    }
  });
});

type Score = EventOf<'score'>['data'];

/** Whether status, keys, and deterministic values agree, as the documentation says. */
function isAllRight({ parts = {} }: Score): boolean {
  const { status, keys = 1, deterministic = 1 } = parts;
  return status === 1 && keys === 1 && deterministic === 1;
}

describe('the accuracy of predictions', { timeout: 480_000 }, () => {
  const bench = new Bench();
  const cwd = bench.path('desk');
  const simulation = path.join(cwd, 'worlds', 'library-sim.world.yaml');
  const json = async <T>(...args: string[]): Promise<T> => bench.json<T>(args, { cwd });
  const run = async (query: string): Promise<string> => {
    writeFileSync(simulation, readFileSync(simulation, 'utf8').replace(/endpoint: .*/, `endpoint: 'demo:${query}'`));
    return (await json<{ batch: string }>('run', 'batches/shadow.batch.yaml', '--attempts', '2')).batch;
  };
  /** Counts predictions by tool from the events of rollouts, with the values of their scores. */
  const recount = async (rows: readonly RolloutRow[]): Promise<Map<string, Score[]>> => {
    const values = new Map<string, Score[]>();
    for (const { rollout } of rows) {
      const { stdout } = await bench.run(['tail', rollout, '--json'], { cwd });
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as TraceEvent);
      const start = events.findLast((event) => event.kind === 'rollout.start'); // after those of its ancestors
      for (const event of events) {
        if (event.kind !== 'score' || event.data.scorer !== 'prediction') continue;
        const call = events.find(({ seq }) => seq === event.span);
        assert.ok(call?.kind === 'tool.start');
        if (event.seq <= (start?.data.fork?.seq ?? 0)) continue;
        values.set(call.data.name, [...(values.get(call.data.name) ?? []), event.data]);
      }
    }
    return values;
  };
  const assertAsRecounted = (report: Report, values: ReadonlyMap<string, readonly Score[]>): void => {
    const mean = (of: readonly Score[]): string => {
      const known = of.flatMap(({ value }) => value ?? []);
      return (known.reduce((sum, value) => sum + value, 0) / known.length).toFixed(9);
    };
    assert.deepEqual(new Set(Object.keys(report.predictions)), new Set(values.keys()));
    for (const [tool, of] of values) {
      const { calls, failed, right, accuracy } = report.predictions[tool]!;
      assert.deepEqual(
        [calls, failed, right, accuracy?.toFixed(9)],
        [of.length, of.filter(({ value }) => value === null).length, of.filter(isAllRight).length, mean(of)],
        tool,
      );
    }
    assert.equal(report.prediction_accuracy?.toFixed(9), mean([...values.values()].flat()));
  };
  const rowsOf = async (batch: string): Promise<RolloutRow[]> =>
    (await json<{ rollouts: RolloutRow[] }>('show', batch)).rollouts;
  let [faithful, faulty] = ['', ''];

  before(async () => {
    await bench.run(['init', 'desk'], { cwd: bench.folder });
    faithful = await run('');
    faulty = await run('?world=faulty');
  });
  after(() => bench.close());

  it('is 100% for a faithful simulation, and lower for one with errors, as a count of their events says', async () => {
    const right = await json<Report>('report', faithful);
    const wrong = await json<Report>('report', faulty);
    assertAsRecounted(right, await recount(await rowsOf(faithful)));
    assertAsRecounted(wrong, await recount(await rowsOf(faulty)));
    for (const tool of ['find_member', 'renew_loan', 'list_loans', 'pay_fine'])
      assert.equal(right.predictions[tool]?.accuracy, 1, tool);
    assert.ok(wrong.prediction_accuracy! < right.prediction_accuracy! - 0.05, String(wrong.prediction_accuracy));
    const accuracies = Object.values(wrong.predictions).map(({ accuracy }) => accuracy ?? 2);
    assert.deepEqual(
      accuracies,
      accuracies.toSorted((a, b) => a - b),
      'the worst first',
    );
    const { stdout } = await bench.run(['report', faithful], { cwd });
    assert.match(stdout, /^predicted +calls +failed +right +status +keys +deterministic +existing +accuracy$/m);
    assert.match(stdout, /^find_member +(\d+) +0 +\1 +100% +100% +100% +100% +100%$/m);
  });

  it('is the same in the statistics of tools, and in the export of each attempt', async () => {
    const report = await json<Report>('report', faulty);
    const { tools } = await json<{ tools: { tool: string; predictions: { accuracy: number } | null }[] }>(
      'tools',
      faulty,
    );
    for (const [tool, { accuracy }] of Object.entries(report.predictions))
      assert.equal(
        tools.find((one) => one.tool === tool)?.predictions?.accuracy.toFixed(9),
        accuracy?.toFixed(9),
        tool,
      );
    const [header = '', ...lines] = (await bench.run(['export', faulty], { cwd })).stdout.trim().split('\r\n');
    const columns = header.split(',');
    const cells = lines.map((line) => line.replaceAll(/"(?:[^"]|"")*"/g, '').split(','));
    const numbers = (name: string): number[] => cells.map((row) => Number(row[columns.indexOf(name)]));
    const [calls, accuracies] = [numbers('predicted_calls'), numbers('prediction_accuracy')];
    const all = calls.reduce((sum, count) => sum + count, 0);
    assert.equal(
      numbers('failed_predictions').reduce((sum, count) => sum + count, 0),
      0,
    );
    const mean = accuracies.reduce((sum, accuracy, at) => sum + accuracy * calls[at]!, 0) / all;
    assert.equal(mean.toFixed(9), report.prediction_accuracy?.toFixed(9));
  });

  it('is that of a fork’s own calls', async () => {
    const [parent] = (await rowsOf(faulty)).filter(({ progress }) => progress.tool_calls > 2);
    const { stdout } = await bench.run(['tail', parent!.rollout, '--json'], { cwd });
    const second = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TraceEvent)
      .find((event) => event.kind === 'model.start' && event.data.step === 2 && event.data.side === undefined);
    const { batch } = await json<{ batch: string }>('fork', `${parent!.rollout}@${second!.seq - 1}`);
    const report = await json<Report>('report', batch);
    const own = await recount(await rowsOf(batch));
    assert.ok(own.size > 0);
    assertAsRecounted(report, own);
    const counted = Object.values(report.predictions).reduce((sum, { calls }) => sum + calls, 0);
    const [fork] = await rowsOf(batch);
    assert.ok(counted <= fork!.progress.tool_calls);
  });
});

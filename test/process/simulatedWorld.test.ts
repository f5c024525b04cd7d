/** A world that a model plays, in a real worker that is killed: nobody is asked twice, and the agent sees the same. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { canonicalJson, type JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { RateCounts } from '../../src/trace/schema/rates.ts';
import { Bench } from '../support/cli.ts';
import { assertWhole, eventsOf, submission, task, until } from '../support/directed.ts';
import { answerText, chatEndpoint } from '../support/endpoint.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { responses } from '../support/worldCalls.ts';

const QUESTION = 'call find {"title": "Emma"}\ncall lend {"book": 1}\ncall find {"title": "Emma"}\nanswer lent';

interface Report {
  readonly attempts: number;
  readonly scored: number;
  readonly rates: RateCounts;
  readonly side: { readonly calls: number };
}

/** A workspace from the sample's template. */
class SampleBench extends Bench {
  get #cwd(): string {
    return this.path('desk');
  }

  /** Runs a batch with the library played at this endpoint, if one is given, and returns its report. */
  async report(endpoint: string | undefined, ...run: readonly string[]): Promise<Report & { readonly batch: string }> {
    if (!existsSync(this.#cwd)) await this.run(['init', 'desk']);
    if (endpoint !== undefined) {
      const file = path.join(this.#cwd, 'worlds', 'library-sim.world.yaml');
      writeFileSync(file, readFileSync(file, 'utf8').replace(/endpoint: .*/, `endpoint: '${endpoint}'`));
    }
    const { batch } = await this.json<{ batch: string }>(['run', ...run], { cwd: this.#cwd });
    return { ...(await this.json<Report>(['report', batch], { cwd: this.#cwd })), batch };
  }
}

describe('the sample’s library, played by a model', { timeout: 480_000 }, () => {
  let bench: SampleBench;
  before(() => {
    bench = new SampleBench();
  });
  after(() => bench.close());

  it('runs offline: every attempt gets a score, and its results say that they are simulated', async () => {
    const report = await bench.report(undefined, 'batches/simulated.batch.yaml', '--attempts', '1');
    assert.deepEqual([report.attempts, report.scored], [10, 10]);
    assert.ok(report.side.calls >= 20, `${report.side.calls} calls of the world model`);
    const { stdout } = await bench.run(['show', `${report.batch}/borrow-one/1`]);
    assert.match(stdout, /library-sim \(simulated\) opened/);
    assert.match(stdout, /"title":"A Field Guide to\s+Clouds","due":"2026-04-06"\}\s+[\d.]+ m?s, simulated/);
    assert.match(stdout, /side {2}World model {2}demo, in check_out/);
  });

  it('is played with planted errors, each named in the thinking of its model', async () => {
    const report = await bench.report('demo:?world=faulty', 'batches/simulated.batch.yaml', '--attempts', '1');
    assert.deepEqual([report.attempts, report.scored], [10, 10]);
    const { stdout } = await bench.run(['tail', `${report.batch}/pay-and-borrow/1`, '--json']);
    assert.match(stdout, /this world errs on purpose\. Planted error: \w+/);
  });

  it('is probed: the faithful one remembers what it wrote, and the faulty one does not', async () => {
    const faithful = await bench.report('demo:', 'batches/world-probes.batch.yaml');
    assert.deepEqual(faithful.rates, {
      error_handling: { checked: 2, held: 2 },
      consistency: { checked: 12, held: 12 },
    });
    const { consistency } = (await bench.report('demo:?world=forgotten:1', 'batches/world-probes.batch.yaml')).rates;
    assert.ok(consistency !== undefined && consistency.held < consistency.checked / 2, JSON.stringify(consistency));
  });
});

describe('a simulated world, after a SIGKILL of its worker @deep', { timeout: 480_000 }, () => {
  it('continues from the recorded answers, and each request begins with the previous one', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const asked = Promise.withResolvers<undefined>();
    let lost = false;
    await using model = await chatEndpoint(({ body }, response) => {
      const turn = (body['messages'] as JsonObject[]).filter(({ role }) => role === 'user').length;
      // The first worker waits for the third answer until it is killed.
      if (turn < 3 || lost) answerText(response, `<think>turn ${turn}</think>answer ${turn}`);
      else asked.resolve(undefined);
    });
    const plain = submission({ attempts: 1 });
    const world: Submission['world'] = {
      name: 'desk',
      file: 'desk.world.yaml',
      kind: 'simulated',
      domain: 'mcp',
      model: { ...plain.agent.model, endpoints: [model.url], name: 'world-model' },
      definitions: ['find', 'lend'].map((name) => ({ name, description: name, parameters: { type: 'object' } })),
      texts: { state: 'Emma is on the shelf.' },
      perturb: [],
    };
    const agent = { ...plain.agent, tools: [] };
    const batch = await server.submit({ ...plain, agent, world }, [task('a', QUESTION, 'lent')]);
    await using first = await TestWorker.start(store, server, batch);
    await asked.promise;
    // Its events are stored up to the open call.
    await until(
      server,
      batch,
      (events) => events.filter(({ kind, agent: of }) => kind === 'model.start' && of === 'world').length === 3,
    );
    await first.kill();
    lost = true;
    await using second = await TestWorker.start(store, server, batch);
    assert.equal(await second.exited, 0, second.stderr);

    const [row] = (await server.api.rollouts(batch)).rollouts;
    const events = await eventsOf(server, row!.rollout);
    assertWhole(events);
    assert.deepEqual(responses(events), ['answer 1', 'answer 2', 'answer 3']);
    assert.deepEqual([row!.progress.passed, row!.progress.steps, row!.progress.side?.calls], [true, 4, 3]);
    const bodies = model.seen.filter(({ path }) => path.endsWith('/chat/completions')).map(({ body }) => body);
    const counts = [...Map.groupBy(bodies, (body) => canonicalJson(body)).values()].map(({ length }) => length);
    assert.deepEqual(counts, [1, 1, 2], 'only the open request is sent again');
    const texts = bodies.map(({ messages }) => (messages as JsonObject[]).map((message) => canonicalJson(message)));
    for (const [index, messages] of texts.slice(0, 3).entries())
      if (index > 0) assert.deepEqual(messages.slice(0, texts[index - 1]!.length), texts[index - 1]);
  });
});

/** An agent that asks what a call would return before it makes it: in the sample, offline, and from directions. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Submission } from '../../src/config/submission.ts';
import type { EventOf } from '../../src/trace/schema.ts';
import { Bench } from '../support/cli.ts';
import { assertWhole, eventsOf, submission, task, until } from '../support/directed.ts';
import { answerText, chatEndpoint } from '../support/endpoint.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { TestWorker } from '../support/workerProcess.ts';

describe('looking ahead', { timeout: 480_000 }, () => {
  it('asks the world model, which sees only the calls that were made, in a worker that is killed', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const asked = Promise.withResolvers<undefined>();
    const answer = Promise.withResolvers<undefined>();
    let questions = 0;
    await using models = await chatEndpoint(async ({ body }, response) => {
      if (body['model'] === 'ahead-model' && ++questions === 2) {
        asked.resolve(undefined); // the worker is killed before it gets this answer
        await answer.promise;
      }
      answerText(response, body['model'] === 'ahead-model' ? '{"foreseen": true}' : '{"found": true}');
    });
    const plain = submission({ attempts: 1 });
    const simulated = (name: string): NonNullable<Submission['world']> => ({
      name,
      file: `${name}.world.yaml`,
      kind: 'simulated',
      domain: 'mcp',
      model: { ...plain.agent.model, endpoints: [models.url], name: `${name}-model` },
      definitions: [{ name: 'find', description: 'find', parameters: { type: 'object' } }],
      texts: {},
      perturb: [],
    });
    const world = { ...simulated('desk'), worlds: { lookahead: simulated('ahead') } };
    const directions = [
      'call predict {"tool": "find", "arguments": {"n": 1}}',
      'call find {"n": 1}',
      'call predict {"tool": "find", "arguments": {"n": 2}}',
      'call predict {"tool": "lose", "arguments": {}}',
      'answer done',
    ];
    const batch = await server.submit({ ...plain, agent: { ...plain.agent, tools: [] }, world }, [
      task('t', directions.join('\n'), 'done'),
    ]);
    await using first = await TestWorker.start(store, server, batch);
    await Promise.race([asked.promise, first.exited]);
    // Replies are recorded while the agent goes on: one that is lost with its worker is asked for again.
    await until(server, batch, (events) => events.filter(({ kind }) => kind === 'tool.end').length === 2);
    await first.kill();
    answer.resolve(undefined);
    await using last = await TestWorker.start(store, server, batch);
    assert.equal(await last.exited, 0, last.stderr);

    const [row] = (await server.api.rollouts(batch)).rollouts;
    assert.ok(row !== undefined);
    assert.deepEqual([row.progress.status, row.progress.passed, row.try], ['done', true, 1]);
    const events = await eventsOf(server, row.rollout);
    assertWhole(events);
    const ends = events.filter((event): event is EventOf<'tool.end'> => event.kind === 'tool.end');
    assert.deepEqual(
      ends
        .filter(({ data }) => data.error?.class !== 'infrastructure')
        .map(({ data }) => [data.source, data.error?.class]),
      [
        ['predicted', undefined],
        ['simulated', undefined],
        ['predicted', undefined],
        ['live', 'unknown_tool'],
      ],
    );
    const bodies = models.seen.filter(({ body }) => body['model'] === 'ahead-model').map(({ body }) => body);
    assert.equal(bodies.length, 3, 'what is recorded is not asked again');
    const text = JSON.stringify(bodies.at(-1)?.['messages']);
    assert.ok(text.includes('found') && !text.includes('foreseen'), 'what is predicted does not happen');
  });

  it('is what the sample’s desk does, offline', async () => {
    const bench = new Bench();
    try {
      await bench.run(['init', 'desk'], { cwd: bench.folder });
      const cwd = bench.path('desk');
      const { batch } = await bench.json<{ batch: string }>(
        ['run', 'batches/lookahead.batch.yaml', '--attempts', '1', '--task', 'renew-or-return'],
        { cwd },
      );
      const { stdout } = await bench.run(['show', `${batch}/renew-or-return/1`], { cwd });
      assert.match(stdout, /→ {2}predict \{tool: "renew_loan", arguments: \{loan_id: "L-3016"\}\}/);
      assert.match(stdout, /s, predicted$/m);
      assert.match(stdout, /side {2}Look-ahead/);
      assert.match(stdout, /← {2}Error \(tool_error\): Not allowed/, 'a refusal is foreseen');
      assert.doesNotMatch(stdout, /✗ {2}tool_error: Not allowed/, 'and the call is not made');
    } finally {
      await bench.close();
    }
  });
});

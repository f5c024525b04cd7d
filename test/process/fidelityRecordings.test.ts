/**
 * Fidelity over recordings of all kinds: of a real MCP server, of another tool, and of a team. Each report is counted
 * again from the events of both batches.
 */
import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { canonicalJson, type Json } from '../../src/common/json.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { answerText, fakeEndpoint } from '../support/endpoint.ts';
import { endOf, ofKind, type TaskLine, Workspace } from '../support/testWorkspace.ts';
import { responses, responsesToCalls } from '../support/worldCalls.ts';

const MEMORY = path.resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js',
);
const ANNOUNCED = path.resolve(import.meta.dirname, '../fixtures/mcp/announced.mjs');

interface Report {
  readonly batch: string;
  readonly how: string;
  readonly calls: number;
  readonly right: number;
  readonly failed: number;
  readonly accuracy: { readonly micro: number | null; readonly macro: number | null };
  readonly faults: Readonly<Record<string, number>>;
  readonly by_domain: readonly { readonly name: string; readonly calls: number; readonly right: number }[];
  readonly by_tool: readonly { readonly name: string; readonly calls: number; readonly right: number }[];
  readonly by_turn: readonly { readonly turn: number; readonly calls: number }[];
}

interface Predicted {
  readonly task: string;
  readonly tool: string;
  readonly value: number | null;
  readonly response: Json | undefined;
  /** What the agent saw in the replay. */
  readonly seen: Json | undefined;
}

describe('fidelity over recordings', { timeout: 480_000 }, () => {
  let workspace: Workspace;
  before(() => {
    workspace = new Workspace();
  });
  after(() => workspace.close());

  const worldFile = (name: string, value: object): string => {
    workspace.write(`${name}.world.yaml`, JSON.stringify({ version: 1, name, ...value }));
    return `${name}.world.yaml`;
  };
  const fidelity = (of: string, file: string, ...more: readonly string[]): Promise<Report> =>
    workspace.json<Report>('world', 'fidelity', of, '--world', file, ...more);
  const eventsByTask = async (batch: string): Promise<Map<string, TraceEvent[]>> =>
    new Map(
      await Promise.all(
        (await workspace.rows(batch)).map(
          async ({ task, attempt, rollout }) => [`${task}/${attempt}`, await workspace.events(rollout)] as const,
        ),
      ),
    );

  /** Reads the predictions from the events, not through the report. */
  async function predictions(batch: string): Promise<Predicted[]> {
    return [...(await eventsByTask(batch))].flatMap(([task, events]) => {
      const starts = ofKind(events, 'tool.start');
      const seen = new Map(responsesToCalls(events));
      return ofKind(events, 'score').flatMap(({ span, data: { value, prediction } }) =>
        prediction === undefined
          ? []
          : [
              {
                task: task.replace(/\/1$/, ''),
                tool: starts.find(({ seq }) => seq === span)?.data.name ?? '',
                value,
                response: prediction.response,
                seen: seen.get(span ?? 0),
              },
            ],
      );
    });
  }

  /** Counts a report again, and returns its predictions. */
  async function assertCounts(report: Report): Promise<Predicted[]> {
    const own = await predictions(report.batch);
    assert.equal(report.calls, own.length);
    assert.equal(report.failed, own.filter(({ value }) => value === null).length);
    const values = own.flatMap(({ value }) => value ?? []);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    assert.ok(Math.abs((report.accuracy.micro ?? Number.NaN) - mean) < 1e-9, `${report.accuracy.micro} is ${mean}`);
    const tools = Map.groupBy(own, ({ tool }) => tool);
    assert.deepEqual(
      new Map(report.by_tool.map(({ name, calls }) => [name, calls])),
      new Map([...tools].map(([name, of]) => [name, of.length])),
    );
    assert.equal(
      report.by_tool.reduce((sum, { right }) => sum + right, 0),
      report.right,
    );
    assert.equal(
      report.by_turn.reduce((sum, { calls }) => sum + calls, 0),
      values.length,
    );
    return own;
  }

  /** Returns the responses that each agent saw, as JSON: agents of a team work at the same time. */
  function seenByAgents(events: readonly TraceEvent[]): string[] {
    const agents = Map.groupBy(events, ({ agent }) => agent).values();
    return Array.from(agents, (own) => canonicalJson(responses(own)))
      .filter((seen) => seen !== '[]')
      .sort();
  }

  /** Asserts that the replays saw what the recordings have, and ended in the same way. */
  async function assertReplayed(recorded: string, batch: string): Promise<void> {
    const before = await eventsByTask(recorded);
    const now = await eventsByTask(batch);
    assert.equal(now.size, before.size);
    for (const [task, events] of before) {
      const replay = now.get(`${task}/1`);
      assert.ok(replay !== undefined, `${task} is replayed`);
      assert.deepEqual(seenByAgents(replay), seenByAgents(events), task);
      assert.equal(endOf(replay).status, endOf(events).status, task);
    }
  }

  describe('of a real MCP server', () => {
    const remember = (name: string): string =>
      `call create_entities {"entities": [{"name": "${name}", "entityType": "member", "observations": ["reads"]}]}\n` +
      `call read_graph {}\ncall delete_entities {"entityNames": ["${name}"]}\ncall read_graph {}\nanswer {{last}}`;
    const tasks: readonly TaskLine[] = ['Ada', 'Bob'].map((name) => ({
      id: name.toLowerCase(),
      question: remember(name),
      answer: 'entities',
      domain: name === 'Ada' ? 'readers' : 'guests',
    }));
    let recorded: string;
    before(async () => {
      const tools = [
        { mcp: { command: process.execPath, args: [ANNOUNCED, workspace.path('servers'), MEMORY] }, name: 'memory' },
      ];
      const file = workspace.batch('recorded', {
        endpoint: 'demo:',
        agent: { tools },
        tasks,
        batch: { attempts: 2, sandbox: 'off' },
      });
      ({ batch: recorded } = await workspace.json<{ batch: string }>('run', file));
    });

    it('is imitated from the recording alone, and always right, teacher-forced and free', async () => {
      const file = worldFile('imitation', { kind: 'recorded', from: [recorded] });
      for (const how of ['forced', 'free']) {
        const report = await fidelity(recorded, file, ...(how === 'free' ? ['--free'] : []));
        const own = await assertCounts(report);
        assert.deepEqual([report.how, report.calls, report.right, report.failed], [how, 16, 16, 0]);
        assert.deepEqual(report.faults, {});
        for (const { response, seen } of own) assert.deepEqual(response, seen);
        await assertReplayed(recorded, report.batch);
      }
    });

    it('is wrong in what the recording has not: of one task, the other one cannot be imitated', async () => {
      const file = worldFile('ada', { kind: 'recorded', from: [`${recorded}/ada`] });
      const report = await fidelity(recorded, file);
      const own = await assertCounts(report);
      const of = (name: string): Predicted[] => own.filter(({ task }) => task.startsWith(name));
      for (const { response, seen } of of('ada')) assert.deepEqual(response, seen);
      const wrong = of('bob').filter(({ response, seen }) => !isDeepStrictEqual(response, seen));
      // What changes something is not recorded for this name.
      assert.deepEqual(
        new Set(wrong.map(({ tool }) => tool)),
        new Set(['create_entities', 'delete_entities', 'read_graph']),
      );
      assert.equal(report.right, own.length - wrong.length);
      assert.equal(report.faults['status'], wrong.length);
      assert.deepEqual(
        report.by_domain.map(({ name, calls, right }) => [name, calls, right]),
        [
          ['guests', 8, 8 - wrong.length],
          ['readers', 8, 8],
        ],
      );
    });
  });

  describe('of another tool', () => {
    /** A conversation with a user, in which a call fails, one has no arguments to read, and the last has no result. */
    const call = (id: string, name: string, args: string): object => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
    });
    const result = (id: string, name: string, content: string): object => ({
      ...{ role: 'tool', tool_call_id: id, name, content },
    });
    const trial = (task: number, loan: number): object => ({
      ...{ task_id: task, trial: 0, reward: 1 },
      info: { task: { user_id: 'ada', actions: [], instruction: `You want loan ${loan} renewed.`, outputs: [] } },
      traj: [
        { role: 'system', content: 'You are the lending desk.' },
        { role: 'user', content: 'Please renew my book.' },
        { role: 'assistant', content: 'Which one?' },
        { role: 'user', content: `Loan ${loan}.` },
        call('a', 'find_loan', `{"loan_id": ${loan}`),
        result('a', 'find_loan', 'Error: arguments are not JSON'),
        call('a', 'find_loan', `{"loan_id": ${loan}}`), // some sources use one ID for several calls
        result('a', 'find_loan', `{"loan_id": ${loan}, "due": "2026-05-01"}`),
        call('b', 'renew_loan', `{"loan_id": ${loan}}`),
        result('b', 'renew_loan', 'Error: the limit is reached\nof two renewals'),
        call('c', 'transfer_to_human', '{}'),
      ],
    });
    const CALLS = ['find_loan', 'renew_loan'];
    let imported: string;
    let file: string;
    before(async () => {
      file = workspace.write('tau.json', JSON.stringify([trial(0, 17), trial(1, 18)]));
      ({ batch: imported } = await workspace.json<{ batch: string }>('import', file));
    });

    it('has a prediction of each call that reached a tool, by a world that was made of it', async () => {
      for (const from of [imported, file]) {
        const world = worldFile('tau', { kind: 'recorded', from: [from] });
        for (const how of [[], ['--free']]) {
          const report = await fidelity(imported, world, ...how);
          const own = await assertCounts(report);
          assert.deepEqual([report.calls, report.right, report.failed], [4, 4, 0]);
          assert.deepEqual(own.map(({ tool }) => tool).sort(), [...CALLS, ...CALLS].sort());
          for (const { response, seen } of own) assert.deepEqual(response, seen);
          await assertReplayed(imported, report.batch);
        }
      }
    });

    it('is compared with a model that plays the environment, which gets what was recorded before', async () => {
      await using model = await fakeEndpoint(({ path: asked }, response) => {
        if (asked.endsWith('/chat/completions')) answerText(response, '{"loan_id": 17, "due": "2026-05-01"}');
        else response.writeHead(404).end();
      });
      const world = worldFile('played', {
        kind: 'simulated',
        model: { endpoint: model.url, name: 'm' },
        tools: [{ recorded: file }],
      });
      const estimate = await workspace.json<{ calls: number; model_calls: number }>(
        ...['world', 'fidelity', imported, '--world', world, '--estimate'],
      );
      const report = await fidelity(imported, world);
      const own = await assertCounts(report);
      assert.deepEqual([estimate.calls, estimate.model_calls, report.calls], [4, 4, 4]);
      // Right for loan 17; another loan has another number, and both renewals failed.
      assert.deepEqual([report.right, report.faults], [1, { deterministic: 1, status: 2 }]);
      assert.equal(own.filter(({ response, seen }) => isDeepStrictEqual(response, seen)).length, 1);
      const asked = model.seen.filter(({ path: to }) => to.endsWith('/chat/completions'));
      const lengths = asked.map(({ body }) => (body['messages'] as unknown[]).length);
      assert.deepEqual(lengths.sort(), [4, 4, 6, 6]);
    });
  });

  describe('of a team', () => {
    let recorded: string;
    before(async () => {
      const write = (name: string, value: object): string =>
        workspace.write(`${name}.agent.yaml`, JSON.stringify({ version: 1, name, ...value }));
      const model = { endpoint: 'demo:', name: 'demo' };
      const tools = [{ builtin: ['calculator'] }];
      for (const name of ['north', 'south']) write(name, { model, tools, prompt: `You work in the ${name}.` });
      const members = ['north', 'south'].map((name) => ({ agent: `${name}.agent.yaml`, after: [] }));
      write('pair', { team: { kind: 'workflow', members } });
      write('desk', { model, tools, prompt: 'At the door.', team: { kind: 'handoff', members: ['pair.agent.yaml'] } });
      const calls = ['40 + 2"} times 3', '1 / 0"}'].map((expression) => `call calculate {"expression": "${expression}`);
      const work = [...calls, 'answer 42'].join('\n');
      const handOff = `call hand_off_to_pair ${JSON.stringify({ message: work })}`;
      const question = `call calculate {"expression": "6 * 7"}\n${handOff}`;
      workspace.write('team.jsonl', JSON.stringify({ id: 'one', question, answer: { north: '42', south: '42' } }));
      workspace.write(
        'team.batch.yaml',
        JSON.stringify({
          ...{ version: 1, agent: 'desk.agent.yaml', dataset: { file: 'team.jsonl' } },
          ...{ scorer: { kind: 'json' }, attempts: 2 },
        }),
      );
      ({ batch: recorded } = await workspace.json<{ batch: string }>('run', 'team.batch.yaml'));
    });

    it('replays each agent with its calls, and predicts those of all', async () => {
      const world = worldFile('team', { kind: 'recorded', from: [recorded], match: 'arguments' });
      for (const how of [[], ['--free']]) {
        const report = await fidelity(recorded, world, ...how);
        const own = await assertCounts(report);
        await assertReplayed(recorded, report.batch);
        assert.deepEqual([report.calls, report.right, report.failed], [18, 18, 0]);
        assert.deepEqual(new Set(own.map(({ tool }) => tool)), new Set(['calculate']));
        const [before] = [...(await eventsByTask(recorded)).values()];
        const [now] = [...(await eventsByTask(report.batch)).values()];
        const agents = (events: readonly TraceEvent[]): string[] =>
          ofKind(events, 'tool.start').map(({ agent, data }) => `${agent ?? ''} ${data.name}`);
        assert.deepEqual(agents(now!).sort(), agents(before!).sort());
      }
    });
  });
});

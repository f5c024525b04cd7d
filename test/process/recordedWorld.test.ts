// A real MCP server is recorded by a batch, and then imitated from the recording alone.
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { answerText, fakeEndpoint } from '../support/endpoint.ts';
import { ofKind, type TaskLine, Workspace } from '../support/testWorkspace.ts';
import { responses } from '../support/worldCalls.ts';

const ANNOUNCED = path.resolve(import.meta.dirname, '../fixtures/mcp/announced.mjs');
const MEMORY = path.resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js',
);

const remember = (name: string, more = ''): string =>
  `call create_entities {"entities": [{"name": "${name}", "entityType": "member", "observations": ["reads"]}]}\n` +
  `${more}call read_graph {}\ncall delete_entities {"entityNames": ["${name}"]}\ncall read_graph {}\nanswer {{last}}`;
const TASKS: readonly TaskLine[] = ['Ada', 'Bob'].map((name) => ({
  id: name.toLowerCase(),
  question: remember(name),
  answer: 'entities',
}));

describe('a recorded world', { timeout: 480_000 }, () => {
  let workspace: Workspace;
  let recorded: string;
  before(async () => {
    workspace = new Workspace();
    const pids = workspace.bench.path('servers');
    const tools = [{ mcp: { command: process.execPath, args: [ANNOUNCED, pids, MEMORY] }, name: 'memory' }];
    const file = workspace.batch('recorded', {
      endpoint: 'demo:',
      agent: { tools },
      tasks: TASKS,
      batch: { attempts: 2, sandbox: 'off' },
    });
    ({ batch: recorded } = await workspace.json<{ batch: string }>('run', file));
    assert.equal(readFileSync(pids, 'utf8').trim().split('\n').length, 4, 'each attempt has a server');
    rmSync(pids);
  });
  after(async () => {
    await workspace.close();
  });

  const imitate = async (name: string, tasks: readonly TaskLine[], world = {}) => {
    const file = workspace.batch(name, {
      endpoint: 'demo:',
      tasks,
      world: { kind: 'recorded', from: [recorded], ...world },
      batch: { scorer: { kind: 'contains' } },
    });
    const { batch } = await workspace.json<{ batch: string }>('run', file);
    return await eventsByTask(batch);
  };
  const eventsByTask = async (batch: string): Promise<Map<string, TraceEvent[]>> => {
    const rows = await workspace.rows(batch);
    return new Map(
      await Promise.all(rows.map(async ({ task, rollout }) => [task, await workspace.events(rollout)] as const)),
    );
  };

  it('gives the agent the tools and the answers of the server, without the server', async () => {
    const before = await eventsByTask(recorded);
    const now = await imitate('imitated', TASKS);
    for (const [task, events] of before) {
      assert.ok(responses(events).length === 4);
      assert.deepEqual(responses(now.get(task)!), responses(events), task);
      assert.deepEqual(
        ofKind(now.get(task)!, 'tool.end').map(({ data: { source, status } }) => [source, status]),
        Array.from({ length: 4 }, () => ['recorded', 'ok']),
      );
    }
    const tools = async (events: readonly TraceEvent[]): Promise<string> =>
      Buffer.from(await (await workspace.api()).getBlob(ofKind(events, 'model.start')[0]!.data.tools!)).toString();
    assert.equal(await tools(now.get('ada')!), await tools(before.get('ada')!));
    // Each answer says which recorded call it is.
    const rollouts = new Set((await workspace.rows(recorded)).map(({ rollout }) => rollout));
    for (const { data } of ofKind(now.get('ada')!, 'tool.end')) assert.ok(rollouts.has(data.recorded!.rollout));
  });

  it('answers a call that is not in the recording with an error, and then goes on', async () => {
    const task = { ...TASKS[0]!, question: remember('Ada', 'call search_nodes {"query": "Ada"}\n') };
    const [events] = [...(await imitate('else', [task])).values()];
    const [, unknown, ...rest] = ofKind(events!, 'tool.end');
    assert.deepEqual(
      [unknown!.data.status, unknown!.data.error?.class, unknown!.data.error?.message],
      [
        'error',
        'tool_error',
        'This call is not in the recording: no attempt called search_nodes with these arguments after these calls.',
      ],
    );
    assert.deepEqual(
      rest.map(({ data }) => data.source),
      ['recorded', 'recorded', 'recorded'],
    );
  });

  it('passes a call that is not in the recording to a simulated world, which knows the recorded calls', async () => {
    await using model = await fakeEndpoint(({ path: asked }, response) => {
      if (asked.endsWith('/chat/completions')) answerText(response, 'made up');
      else response.writeHead(404).end();
    });
    const tools = ['search_nodes', 'read_graph'].map((name) => ({ name, inputSchema: { type: 'object' } }));
    workspace.write('tools.json', JSON.stringify(tools));
    workspace.write(
      'sim.world.yaml',
      `version: 1\nname: sim\nkind: simulated\nmodel: { endpoint: "${model.url}", name: m }\n` +
        'tools: [{ file: tools.json }]\n',
    );
    const [create = ''] = remember('Ada').split('\n');
    const question =
      `${create}\ncall read_graph {}\ncall search_nodes {"query": "Ada"}\ncall read_graph {}\n` +
      'call create_entities {"entities": []}\nanswer {{last}}';
    const [events] = [
      ...(await imitate('behind', [{ ...TASKS[0]!, question }], { otherwise: { world: 'sim.world.yaml' } })).values(),
    ];
    // Nobody recorded whether searching changes something, so the recording does not go on after it.
    assert.deepEqual(
      ofKind(events!, 'tool.end').map(({ data }) => [data.source, data.status]),
      [
        ['recorded', 'ok'],
        ['recorded', 'ok'],
        ['simulated', 'ok'],
        ['simulated', 'ok'],
        ['live', 'error'],
      ],
    );
    const [request] = model.seen.filter(({ path: asked }) => asked.endsWith('/chat/completions'));
    const texts = (request!.body['messages'] as { content: string }[]).map(({ content }) => content);
    assert.equal(texts.length, 6, 'system, two recorded calls with their answers, and the new call');
    assert.match(texts[1]!, /create_entities/);
    assert.match(texts[5]!, /search_nodes/);
  });

  it('is refused with the place of a batch that does not exist', async () => {
    const file = workspace.batch('gone', {
      endpoint: 'demo:',
      tasks: TASKS,
      world: { kind: 'recorded', from: [recorded, 'b0123456789abcdefg'] },
    });
    const { code, stderr } = await workspace.run('run', file);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /gone\.world\.yaml:7:5: There is no batch b0123456789abcdefg here — /);
  });
});

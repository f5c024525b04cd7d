/**
 * An agent that practices writes against a real MCP server: its reads come from the server, and its writes are
 * simulated. What the server received proves that no write reached it, also where a worker is lost.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { JsonObject } from '../../src/common/json.ts';
import type { Submission } from '../../src/config/submission.ts';
import type { EventData, TraceEvent } from '../../src/trace/schema.ts';
import { assertWhole, eventsOf, NO_SANDBOX, submission, task, until } from '../support/directed.ts';
import { answerText, callsOf, chatEndpoint, type FakeEndpoint, turnsOf } from '../support/endpoint.ts';
import { connectMcp, textOf } from '../support/mcpClient.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { Workspace } from '../support/testWorkspace.ts';
import { TestWorker } from '../support/workerProcess.ts';
import { responses } from '../support/worldCalls.ts';

const ANNOUNCED = path.resolve(import.meta.dirname, '../fixtures/mcp/announced.mjs');
const MEMORY = path.resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-memory/dist/index.js',
);
const READS = ['read_graph', 'search_nodes', 'open_nodes'];
const STORED = '{"type":"entity","name":"Ada","entityType":"member","observations":["reads"]}';
const KEY = 'canary-51c0ffee77d2';

const create = (name: string): string =>
  `call create_entities {"entities": [{"name": "${name}", "entityType": "member", "observations": []}]}`;
const READ = 'call read_graph {}';
const QUESTION = [READ, create('Bob'), READ, create('Cleo'), READ, 'answer done'].join('\n');

/** Plays the world: the n-th turn is answered with `observation n`. */
function worldModel(before: (turn: number) => Promise<void> = () => Promise.resolve()): Promise<FakeEndpoint> {
  return chatEndpoint(async ({ body }, response) => {
    await before(turnsOf(body));
    answerText(response, `observation ${turnsOf(body)}`);
  });
}

/** The files of a real server. */
class Server {
  readonly pids: string;
  readonly heard: string;
  readonly graph: string;

  constructor(folder: string) {
    [this.pids, this.heard, this.graph] = ['pids', 'heard', 'graph.jsonl'].map((name) => path.join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(this.graph, `${STORED}\n`);
  }

  get entry() {
    const env = { MEMORY_FILE_PATH: this.graph, ANNOUNCED_HEARD: this.heard };
    return { command: process.execPath, args: [ANNOUNCED, this.pids, MEMORY], env };
  }

  /** Names of the tools that it was asked to call. */
  get called(): string[] {
    return lines(this.heard).flatMap(({ method, params }) =>
      method === 'tools/call' ? [(params as JsonObject)['name'] as string] : [],
    );
  }

  get started(): number[] {
    return lines(this.pids).map(({ pid }) => pid as number);
  }

  assertUntouched(): void {
    assert.deepEqual(new Set(this.called), new Set(['read_graph']));
    assert.equal(readFileSync(this.graph, 'utf8'), `${STORED}\n`);
    for (const pid of this.started)
      assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' }, 'the server has ended');
  }
}

const lines = (file: string): JsonObject[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);

const endsOf = (events: readonly TraceEvent[]): EventData['tool.end'][] =>
  // A call that was lost with its worker has no response.
  events.flatMap((event) => (event.kind === 'tool.end' && event.data.m !== undefined ? [event.data] : []));

/** What the agent saw: the stored graph as it is, and what the model made of it. */
function assertPracticed(events: readonly TraceEvent[]): void {
  const [first, ...later] = responses(events);
  assert.match(JSON.stringify(first), /Ada/);
  assert.deepEqual(
    later,
    [2, 3, 4, 5].map((turn) => `observation ${turn}`),
  );
  const ends = endsOf(events);
  assert.deepEqual(
    ends.map(({ source }) => source),
    ['live', 'simulated', 'overlay', 'simulated', 'overlay'],
  );
  for (const { real } of [ends[2]!, ends[4]!]) assert.match(JSON.stringify(real), /Ada/);
}

describe('a simulated world with real tools', { timeout: 480_000 }, () => {
  it('reads from the server and never writes there, also after a SIGKILL of its worker @deep', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const real = new Server(store.folder);
    const asked = Promise.withResolvers<undefined>();
    let lost = false;
    await using model = await worldModel(async (turn) => {
      if (turn !== 4 || lost) return;
      asked.resolve(undefined);
      await new Promise(() => undefined); // the first worker waits until it is killed
    });
    const plain = submission({ attempts: 1, sandbox: NO_SANDBOX });
    const practice: Submission = {
      ...plain,
      agent: { ...plain.agent, tools: [] },
      world: {
        name: 'practice',
        file: 'practice.world.yaml',
        kind: 'simulated',
        domain: 'mcp',
        model: { ...plain.agent.model, endpoints: [model.url], name: 'world-model' },
        definitions: [],
        texts: {},
        perturb: [],
        real_tools: [{ kind: 'mcp', name: 'memory', shared: false, server: real.entry }],
        route: [{ tools: READS, by: 'overlay' }],
      },
    };
    const batch = await server.submit(practice, [task('it', QUESTION, 'done')]);
    {
      await using worker = await TestWorker.start(store, server, batch);
      await Promise.race([asked.promise, worker.exited]);
      await until(server, batch, (events) => endsOf(events).length === 3); // they are stored
      await worker.kill();
    }
    lost = true;
    await using last = await TestWorker.start(store, server, batch);
    assert.equal(await last.exited, 0, last.stderr);

    const { rollouts } = await server.api.rollouts(batch);
    const [row] = rollouts;
    assert.deepEqual([rollouts.length, row?.progress.status, row?.progress.passed], [1, 'done', true]);
    const events = await eventsOf(server, row!.rollout);
    assertWhole(events);
    assertPracticed(events);
    assert.equal(real.started.length, 2, 'each worker has a server');
    assert.equal(real.called.length, 3, 'recorded reads are not repeated');
    assert.equal(callsOf(model), 5, 'only the lost request is sent again');
    real.assertUntouched();
  });
});

describe('real tools in a world file', { timeout: 480_000 }, () => {
  let workspace: Workspace;
  let model: FakeEndpoint;
  before(async () => {
    workspace = new Workspace();
    model = await worldModel();
  });
  after(async () => {
    await workspace.close();
    await model[Symbol.asyncDispose]();
  });

  const batch = (name: string, mcp: JsonObject, more: JsonObject = {}): string =>
    workspace.batch(name, {
      endpoint: 'demo:',
      tasks: [{ id: 'one', question: QUESTION, answer: 'done' }],
      world: {
        kind: 'simulated',
        model: { endpoint: model.url, name: 'world-model' },
        real: { tools: [{ mcp, name: 'memory' }] },
        route: [{ tools: READS, by: 'overlay' }],
        ...more,
      },
      batch: { scorer: { kind: 'exact' }, sandbox: 'off', retry: { infrastructure: 0 } },
    });

  it('are opened by each attempt, with the values of variables, which are nowhere in the record', async () => {
    const real = new Server(workspace.path());
    const { env, ...server } = real.entry;
    const file = batch('practice', { ...server, env: { ...env, KEY: '${env:CANARY}' } });
    const unset = await workspace.run('run', file);
    assert.equal(unset.code, 2);
    assert.match(unset.stderr, /practice\.world\.yaml:\d+:\d+: the environment variable CANARY is not set/);
    const { stdout } = await workspace.bench.run(['run', file, '--attempts', '2', '--json'], {
      cwd: workspace.path(),
      env: { CANARY: KEY },
    });
    const { batch: id } = JSON.parse(stdout) as { batch: string };
    const rows = await workspace.rows(id);
    assert.deepEqual(
      rows.map(({ progress }) => progress.passed),
      [true, true],
    );
    for (const { rollout } of rows) {
      const events = await workspace.events(rollout);
      assertPracticed(events);
      assert.ok(!JSON.stringify(events).includes(KEY));
    }
    assert.equal(real.started.length, 2);
    real.assertUntouched();

    const again = await workspace.bench.run(['call', `${id}/one/1@${await seqOfRead(workspace, rows[0]!.rollout)}`], {
      cwd: workspace.path(),
      env: { CANARY: KEY },
    });
    assert.match(again.stdout, /Ada/, again.stderr);
    assert.equal(real.started.length, 3, 'a repeated call opens its own');
    real.assertUntouched();
  });

  it('say where the server is named that does not start', async () => {
    const absent = { command: process.execPath, args: [workspace.path('absent.mjs')] };
    const { code, stderr } = await workspace.run('run', batch('absent', absent));
    assert.equal(code, 3);
    assert.match(
      stderr,
      /lost to infrastructure: absent\.world\.yaml:\d+:\d+: the MCP server "memory" exited with code 1/,
    );
  });

  it('need a person before a coding agent may start them', async () => {
    const started = workspace.path('started');
    workspace.write(
      'server.mjs',
      `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(started)}, '');`,
    );
    const inside = batch('asked', { command: process.execPath, args: [workspace.path('server.mjs')] });
    const outside = batch('outside', { command: process.execPath, args: [MEMORY] });
    const client = await connectMcp(workspace, { mode: 'legacy' });
    try {
      for (const [file, why] of [
        [inside, /It starts the MCP server .*server\.mjs/],
        [outside, /index\.js is outside the workspace/],
      ] as const) {
        const refused = await client.callTool({ name: 'launch_batch', arguments: { file } });
        assert.equal(refused.isError, true);
        assert.match(textOf(refused), why);
      }
      assert.equal(existsSync(started), false);
    } finally {
      await client.close();
    }
  });
});

/** The first read, before anything was simulated. */
async function seqOfRead(workspace: Workspace, rollout: string): Promise<number> {
  const events = await workspace.events(rollout);
  return events.find((event) => event.kind === 'tool.start')!.seq;
}

// Batches whose tools are real MCP servers, over stdio and streamable HTTP: what the model sees of them, and what a
// death costs.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { JsonObject } from '../../src/common/json.ts';
import type { RolloutRow } from '../../src/trace/summary.ts';
import { hasEnded } from '../support/cli.ts';
import { endOf, ofKind, Workspace } from '../support/testWorkspace.ts';
import { type WatchedDemo, watchedDemo } from '../support/watchedDemo.ts';

const ANNOUNCED = path.resolve(import.meta.dirname, '../fixtures/mcp/announced.mjs');
const program = (name: string): string =>
  path.resolve(import.meta.dirname, `../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const LONG = 'trigger-long-running-operation';

let demo: WatchedDemo;
let workspace: Workspace;
before(async () => {
  demo = await watchedDemo();
  workspace = new Workspace();
});
after(async () => {
  await workspace.close();
  await demo.close();
});

const pidsFile = (batch: string): string => workspace.bench.path(`${batch}.pids`);
/** A server on stdio that writes its pid to the file of its batch. */
const stdio = (batch: string, name: string, args: readonly string[] = [], more: JsonObject = {}): JsonObject => ({
  mcp: { command: process.execPath, args: [ANNOUNCED, pidsFile(batch), program(name), ...args] },
  name,
  ...more,
});

/** Without a sandbox, the process IDs that servers write are those that the test sees. */
const VISIBLE = { sandbox: 'off' };

/** The servers of a batch that wrote their pid. */
function announced(batch: string): { pid: number; cwd: string }[] {
  if (!existsSync(pidsFile(batch))) return [];
  return readFileSync(pidsFile(batch), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { pid: number; cwd: string });
}

/** No server and no worker of a batch is left. */
async function assertNoneLeft(batch: string, rows: readonly RolloutRow[]): Promise<void> {
  for (const { pid } of announced(batch)) assert.ok(await hasEnded(pid, 5_000), `server ${pid} is gone`);
  for (const worker of new Set(rows.map((row) => row.worker))) {
    const pid = Number(/^local-(\d+)$/.exec(worker ?? '')?.[1]);
    assert.ok(await hasEnded(pid, 15_000), `worker ${pid} is gone`);
  }
}

describe('MCP servers on stdio', { timeout: 480_000, concurrency: 3 }, () => {
  it('serve the rollouts of a batch, one server for each', async () => {
    const remember = (name: string): string =>
      `call create_entities {"entities": [{"name": "${name}", "entityType": "member", "observations": ` +
      '["reads"]}]}\ncall read_graph {}\nanswer {{last}}';
    const file = workspace.batch('own', {
      endpoint: demo.url,
      batch: VISIBLE,
      agent: {
        tools: [stdio('own', 'everything', ['stdio']), stdio('own', 'filesystem', ['.']), stdio('own', 'memory')],
      },
      tasks: [
        {
          id: 'talk',
          question:
            'call echo {"message": "hi"}\nand get-sum {"a": 40, "b": 2}\nand get-structured-content {"location": ' +
            '"Chicago"}\ncall echo {"wrong": 1}\nanswer {{last}}',
          answer: 'message',
        },
        { id: 'image', question: 'call get-tiny-image {}\nanswer {{last}}', answer: 'image' },
        {
          id: 'files',
          question:
            'call write_file {"path": "note.txt", "content": "kept"}\ncall list_directory {"path": "."}\ncall ' +
            'read_text_file {"path": "note.txt"}\nanswer {{last}}',
          answer: 'kept',
        },
        { id: 'ada', question: remember('Ada'), answer: 'Ada' },
        { id: 'bob', question: remember('Bob'), answer: 'Bob' },
      ],
    });
    const report = await workspace.json<{ batch: string; passed: number; attempts: number }>('run', file);
    const rows = await workspace.rows(report.batch);
    const read = async (task: string) => workspace.events(rows.find((row) => row.task === task)!.rollout);
    assert.deepEqual(
      [report.passed, report.attempts],
      [5, 5],
      JSON.stringify(await Promise.all(rows.map(async (row) => endOf(await workspace.events(row.rollout)).answer))),
    );

    const talk = await read('talk');
    const responses = ofKind(talk, 'message')
      .filter((message) => message.data.role === 'tool')
      .map((message) => message.data.parts[0]);
    assert.deepEqual(
      responses
        .slice(0, 3)
        .map((part) => part?.type === 'tool_call_response' && part.response)
        .sort(byText),
      [
        'Echo: hi',
        'The sum of 40 and 2 is 42.',
        { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
      ].sort(byText),
    );
    assert.equal(ofKind(talk, 'tool.end').at(-1)!.data.error?.class, 'invalid_arguments');
    // A rollout's memory is its own.
    assert.doesNotMatch(JSON.stringify(endOf(await read('ada')).answer), /Bob/);
    assert.doesNotMatch(JSON.stringify(endOf(await read('bob')).answer), /Ada/);
    const effects = new Map(
      [...talk, ...(await read('files'))].flatMap((event) =>
        event.kind === 'tool.start' ? [[event.data.name, event.data.effect]] : [],
      ),
    );
    assert.deepEqual(Object.fromEntries(effects), {
      echo: 'pure',
      'get-sum': 'pure',
      'get-structured-content': 'pure',
      write_file: 'irreversible',
      list_directory: 'pure',
      read_text_file: 'pure',
    });

    // The image is in the trajectory and reached the model.
    const blob = ofKind(await read('image'), 'message')
      .flatMap((message) => message.data.parts)
      .find((part) => part.type === 'blob');
    assert.equal(blob?.type === 'blob' && blob.mime_type, 'image/png');
    const sent = demo.receivedRequests
      .flatMap((body) => body['messages'] as { role: string; content: unknown }[])
      .flatMap((message) => (Array.isArray(message.content) ? (message.content as JsonObject[]) : []));
    const image = sent.find((part) => part['type'] === 'image_url')?.['image_url'] as { url: string } | undefined;
    assert.match(image?.url ?? '', /^data:image\/png;base64,iVBORw0KGgo/);

    // Three servers for each of the five rollouts, and none of them is left.
    assert.equal(announced('own').length, 15);
    assert.equal(new Set(announced('own').map(({ cwd }) => cwd)).size, 5, 'each rollout has a folder of its own');
    await assertNoneLeft('own', rows);
    await assertSchemasPassed('"path\\": \\"note.txt');
  });

  it('shared: one for all rollouts of a worker, with its state @deep', async () => {
    const file = workspace.batch('shared', {
      endpoint: demo.url,
      batch: { ...VISIBLE, concurrency: 1 },
      agent: {
        tools: [
          {
            ...stdio('shared', 'memory'),
            shared: true,
            tools: ['create_entities', 'read_graph'],
            mcp: {
              ...(stdio('shared', 'memory')['mcp'] as JsonObject),
              env: { MEMORY_FILE_PATH: workspace.bench.path('shared.jsonl') },
            },
          },
        ],
      },
      tasks: ['Ada', 'Bob', 'Cyn'].map((name) => ({
        id: name,
        question:
          `call create_entities {"entities": [{"name": "${name}", "entityType": "member", "observations": ` +
          '[]}]}\ncall read_graph {}\nanswer {{last}}',
        answer: name,
      })),
    });
    const report = await workspace.json<{ batch: string; passed: number }>('run', file);
    assert.equal(report.passed, 3);
    const rows = await workspace.rows(report.batch);
    const last = rows.find((row) => row.task === 'Cyn')!;
    assert.match(JSON.stringify(endOf(await workspace.events(last.rollout)).answer), /Ada.*Bob.*Cyn/);
    assert.equal(announced('shared').length, 1);
    await assertNoneLeft('shared', rows);
  });

  it('one killed during a call causes a classified error of that attempt; the others pass @deep', async () => {
    const batch = await workspace.launch('killed', {
      endpoint: demo.url,
      agent: { tools: [stdio('killed', 'everything', ['stdio']), stdio('killed-files', 'filesystem', ['.'])] },
      tasks: [
        {
          id: 'long',
          question: `call list_allowed_directories {}\ncall ${LONG} {"duration": 2, "steps": 8}\nanswer {{last}}`,
          answer: 'completed',
        },
      ],
      batch: { ...VISIBLE, attempts: 4 },
    });
    const isWaiting = (row: RolloutRow): boolean => row.state === 'running' && row.progress.tools.includes(LONG);
    const victim = (await workspace.waitForRows(batch, (rows) => rows.some(isWaiting))).find(isWaiting)!;
    // Its servers run in its working directory, which one of them has named.
    const recorded = JSON.stringify(await workspace.events(victim.rollout));
    const { pid } = announced('killed').find(({ cwd }) => recorded.includes(cwd))!;
    process.kill(pid, 'SIGKILL');
    const rows = await workspace.ended(batch);
    const errors = await Promise.all(
      rows.map(async (row) => ofKind(await workspace.events(row.rollout), 'tool.end')[1]?.data.error),
    );
    for (const [index, row] of rows.entries()) {
      assert.deepEqual([row.progress.status, row.try, row.settles], ['done', 1, true]);
      assert.equal(row.progress.passed, row.rollout !== victim.rollout);
      if (row.rollout !== victim.rollout) assert.equal(errors[index], undefined);
      else {
        assert.equal(errors[index]?.class, 'tool_error');
        assert.match(
          errors[index].message,
          /^The connection to the MCP server "everything" was lost: the server was killed by SIGKILL/,
        );
      }
    }
    assert.equal(rows.length, 4);
    await assertNoneLeft('killed', rows);
  });
});

describe('an MCP server over streamable HTTP', { timeout: 480_000, concurrency: 2 }, () => {
  let server: ChildProcess;
  let url: string;
  before(async () => {
    // It takes a port number only, so a free one is found first.
    const probe = createServer();
    await new Promise<void>((resolve) => {
      probe.listen(0, '127.0.0.1', resolve);
    });
    const port = (probe.address() as { port: number }).port;
    await new Promise((resolve) => probe.close(resolve));
    url = `http://127.0.0.1:${port}/mcp`;
    server = spawn(process.execPath, [program('everything'), 'streamableHttp'], {
      env: { PATH: process.env['PATH'], PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await new Promise<void>((resolve) => {
      server.stderr?.on('data', (chunk: Buffer) => {
        if (chunk.includes('listening')) resolve();
      });
    });
  });
  after(async () => {
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
  });

  for (const shared of [false, true]) {
    it(
      shared ? 'serves all rollouts over one connection' : 'serves each rollout over a connection of its own @deep',
      async () => {
        const message = shared ? 'over one' : 'over its own';
        const file = workspace.batch(shared ? 'http-shared' : 'http', {
          endpoint: demo.url,
          agent: { tools: [{ mcp: { url }, name: 'remote', ...(shared ? { shared } : {}) }] },
          tasks: [
            {
              id: 'echo',
              question: `call echo {"message": "${message}"}\nand get-sum {"a": 1, "b": 2}\nanswer {{last}}`,
              answer: 'The sum of 1 and 2 is 3.',
            },
            {
              id: 'long',
              question: `call ${LONG} {"duration": 0.5, "steps": 2}\nanswer {{last}}`,
              answer: 'completed',
            },
          ],
          batch: { attempts: 2 },
        });
        const report = await workspace.json<{ passed: number; attempts: number }>('run', file);
        assert.deepEqual([report.passed, report.attempts], [4, 4]);
        await assertSchemasPassed(message);
      },
    );
  }
});

/** The tools that the model was offered, in a call whose question has `words`, are those of the server. */
async function assertSchemasPassed(words: string): Promise<void> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [program('everything'), 'stdio'], stderr: 'ignore' }),
  );
  const { tools } = await client.listTools();
  await client.close();
  const request = demo.receivedRequests.find((body) => JSON.stringify(body['messages']).includes(words));
  const offered = request?.['tools'] as unknown as {
    type: string;
    function: { name: string; description: string; parameters: unknown };
  }[];
  for (const name of ['echo', 'get-sum', 'get-structured-content', 'gzip-file-as-resource', LONG]) {
    const tool = tools.find((candidate) => candidate.name === name)!;
    assert.deepEqual(
      offered.find((candidate) => candidate.function.name === name),
      { type: 'function', function: { name, description: tool.description, parameters: tool.inputSchema } },
    );
  }
}

function byText(a: unknown, b: unknown): number {
  return JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
}

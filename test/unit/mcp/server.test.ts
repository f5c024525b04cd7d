/** The server's core over an in-memory transport and a test store: errors, pages of rows, lost servers, limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallToolResult, Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { Connection } from '../../../src/client/connect.ts';
import { StudioError } from '../../../src/common/errors.ts';
import { ANSWER_BYTES } from '../../../src/mcp/answers/bounds.ts';
import { type RowPlace, rowsFrom, Tasks } from '../../../src/mcp/reading/rows.ts';
import { Session } from '../../../src/mcp/session.ts';
import { defineTool, type StudioTool } from '../../../src/mcp/tool.ts';
import { Api } from '../../../src/protocol/api.ts';
import { EMPTY_PROGRESS, type RolloutRow } from '../../../src/trace/summary.ts';

type Answering = (path: string, query: URLSearchParams) => unknown;

/** An Api whose server is a function; if it throws, the server does not respond. */
function apiOf(answer: Answering): Api {
  return new Api({
    request: ({ path }) => {
      const url = new URL(path, 'http://store');
      return soon(() => JSON.stringify(answer(url.pathname, url.searchParams))).then((body) => ({
        status: 200,
        text: () => Promise.resolve(body),
        bytes: () => Promise.resolve(new TextEncoder().encode(body)),
      }));
    },
  });
}

const SERVER = {
  product: 'test',
  protocol: 1,
  pid: 1,
  store: 's',
  started_at: 0,
  queued: 0,
  running: 0,
  held: 0,
  workers: [],
  endpoints: [],
};

/** Runs a function immediately, and returns its result or error as a promise. */
function soon<T>(act: () => T): Promise<T> {
  return new Promise((resolve) => {
    resolve(act());
  });
}

function connectionOf(api: Api, more: Partial<Connection> = {}): Connection {
  const address = { url: 'http://127.0.0.1:1', token: 't' };
  return { api, address: () => address, readAddress: () => address, reconnect: () => Promise.resolve(), ...more };
}

function sessionOf(connect: () => Promise<Connection>): Session {
  return new Session({
    connect,
    folder: '/work',
    env: {},
    readOnly: false,
    maxAttempts: 100,
    loadModules: () => Promise.resolve([]),
  });
}

async function call(tool: StudioTool, session: Session): Promise<CallToolResult> {
  const server = new McpServer({ name: 'test', version: '1' });
  tool.register(server, session);
  const client = new Client({ name: 'test', version: '1' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  try {
    return await client.callTool({ name: tool.name, arguments: {} });
  } finally {
    await client.close();
  }
}

function toolThat(run: () => string): StudioTool {
  return defineTool({
    name: 'it',
    title: 'It',
    description: 'It.',
    input: z.strictObject({}),
    output: z.object({ said: z.string() }),
    effect: 'read',
    run: () => soon(run).then((text) => ({ data: { said: text.slice(0, 10) }, text })),
  });
}

const fine = sessionOf(() => Promise.resolve(connectionOf(apiOf(() => SERVER))));

test('errors are answers with their hint', async () => {
  const reply = await call(
    toolThat(() => {
      throw new StudioError('not_found', 'There is no such thing.', { hint: 'Look again.' });
    }),
    fine,
  );
  assert.deepEqual(
    [reply.isError, reply.content],
    [true, [{ type: 'text', text: 'There is no such thing. Look again.' }]],
  );
  const fault = await call(
    toolThat(() => {
      throw new Error('a fault');
    }),
    fine,
  );
  assert.equal(fault.isError, true);
});

test('no answer exceeds the limit', async () => {
  assert.equal(
    (
      await call(
        toolThat(() => 'x'.repeat(ANSWER_BYTES)),
        fine,
      )
    ).isError,
    undefined,
  );
  const longer = await call(
    toolThat(() => 'x'.repeat(ANSWER_BYTES + 1)),
    fine,
  );
  assert.equal(longer.isError, true);
  assert.match(JSON.stringify(longer.content), /the maximum is 40000/);
});

test('a server that is gone is found again, and a failed first connection is retried', async () => {
  let alive = true;
  let reconnects = 0;
  let tries = 0;
  const api = apiOf(() => {
    if (!alive) throw new StudioError('unavailable', 'The rollout server does not answer.');
    return SERVER;
  });
  const reconnect = (): Promise<void> => {
    reconnects++;
    alive = true;
    return Promise.resolve();
  };
  const session = sessionOf(() =>
    soon(() => {
      if (++tries === 1) throw new StudioError('unavailable', 'No server.', { hint: 'Start one.' });
      return connectionOf(api, { reconnect });
    }),
  );
  const said = async (): Promise<unknown> =>
    (
      await call(
        toolThat(() => 'fine'),
        session,
      )
    ).isError;
  assert.deepEqual([await said(), await said(), tries, reconnects], [true, undefined, 2, 0]);
  alive = false;
  assert.deepEqual([await said(), tries, reconnects], [undefined, 2, 1]);
});

test('rows are resumed at any place, and their tasks found', async () => {
  const total = 1203;
  const row = (index: number): RolloutRow => ({
    rollout: `r${index}`,
    batch: 'b',
    task: `t${index}`,
    task_index: index,
    attempt: 1,
    try: 1,
    state: 'queued',
    epoch: 0,
    last: 0,
    settles: false,
    progress: EMPTY_PROGRESS,
    rev: 1,
  });
  const all = Array.from({ length: total }, (_, index) => index);
  const api = apiOf((path, query) => {
    const limit = Number(query.get('limit'));
    const from = query.has('after') ? Number(query.get('after')) + 1 : 0;
    const page = all.slice(from, from + limit);
    const next =
      from + limit < total ? { next: path.endsWith('tasks') ? from + limit - 1 : String(from + limit - 1) } : {};
    return path.endsWith('tasks')
      ? { tasks: page.map((index) => ({ id: `t${index}`, question: '?', meta: {} })), ...next }
      : { rollouts: page.map(row), ...next };
  });
  const { signal } = new AbortController();
  const seen: string[] = [];
  let place: RowPlace | undefined = { skip: 0 };
  while (place !== undefined) {
    let taken = 0;
    const start: RowPlace = place;
    place = undefined;
    for await (const { row: found, next } of rowsFrom(api, 'b', {}, start, signal)) {
      seen.push(found.task);
      if (++taken === 77) {
        place = next;
        break;
      }
    }
  }
  assert.deepEqual(
    seen,
    all.map((index) => `t${index}`),
  );
  const tasks = new Tasks(api, 'b');
  for (const index of [0, 199, 200, 1202]) assert.equal((await tasks.get(index, signal))?.id, `t${index}`);
});

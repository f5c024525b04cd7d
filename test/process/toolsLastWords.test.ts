// Output of servers and modules between calls, and while they end with their rollout, is recorded too.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { SubmittedTools } from '../../src/config/submission.ts';
import type { OnLog } from '../../src/rollout/ports.ts';
import type { ToolEnvironment } from '../../src/tools/environment.ts';
import { openTools } from '../../src/tools/hosts.ts';
import type { TraceEvent } from '../../src/trace/schema.ts';
import { eventsOf, submission, task } from '../support/directed.ts';
import { plain } from '../support/rolloutKit.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { callContext, callTool, type ToolBench, toolBench } from '../support/tools.ts';
import { TestWorker } from '../support/workerProcess.ts';

/** Prints what it does. `leave` ends it after its response. */
const SERVER = `import { createInterface } from 'node:readline';
console.error('starting');
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === 'tools/call') console.error('called ' + params.name);
  const result = method === 'initialize' ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, \
serverInfo: { name: 's', version: '1' } }
    : method === 'tools/list' ? { tools: ['speak', 'leave'].map((name) => ({ name, inputSchema: { type: 'object' } \
})) } : method === 'tools/call' ? { content: [{ type: 'text', text: 'done' }] } : undefined;
  await new Promise((resolve) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...(result === undefined ? \
{ error: { code: -32601, message: 'no' } } : { result }) }) + '\\n', resolve));
  if (params?.name === 'leave') {
    console.error('leaving');
    process.exit(7);
  }
}
console.error('saving');
console.log('not a message');
process.stdout.write('nor is this');
`;

type Log = Extract<TraceEvent, { kind: 'log' }>;

let bench: ToolBench;
let entry: SubmittedTools;
/** As in a worker: nobody listens between calls. */
let environment: Omit<ToolEnvironment, 'onLog'> & { onLog?: OnLog };
before(async () => {
  bench = await toolBench({ threads: 1 });
  const file = path.join(bench.cwd, 'server.mjs');
  await writeFile(file, SERVER);
  entry = { kind: 'mcp', name: 'talker', shared: false, server: { command: process.execPath, args: [file], env: {} } };
  environment = { ...bench.environment };
  delete environment.onLog;
});
after(() => bench.close());

/** The reported output, by stream. */
function words(): { readonly onLog: OnLog; readonly out: () => string; readonly err: () => string } {
  const lines: Parameters<OnLog>[] = [];
  const of = (stream: 'out' | 'err') => (): string =>
    lines.flatMap(([from, text]) => (from === stream ? [text] : [])).join('');
  return {
    onLog: (...one) => {
      lines.push(one);
    },
    out: of('out'),
    err: of('err'),
  };
}

describe('the last output', () => {
  it('of a server is recorded: under its call while one runs, otherwise before the end', async () => {
    await using store = new TestStore();
    const server = await store.start();
    const whole = submission({ attempts: 1 });
    const batch = await server.submit({ ...whole, agent: { ...whole.agent, tools: [entry] } }, [
      task('a', 'call speak {}\nanswer 42', '42'),
    ]);
    await using worker = await TestWorker.start(store, server, batch);
    assert.equal(await worker.exited, 0, worker.stderr);
    const [row] = (await server.api.rollouts(batch)).rollouts;
    const events = await eventsOf(server, row!.rollout);
    const call = events.find((event) => event.kind === 'tool.start');
    const ended = events.find((event) => event.kind === 'tool.end');
    assert.ok(call !== undefined && ended !== undefined);
    const logs = events.filter((event): event is Log => event.kind === 'log');
    const textOf = (of: (log: Log) => boolean): string =>
      logs
        .filter(of)
        .map(({ data }) => plain(data.text))
        .join('');
    assert.equal(
      textOf(({ span }) => span === call.seq),
      'starting\ncalled speak\n',
    );
    assert.equal(
      textOf(({ span, data, seq }) => span === undefined && data.stream === 'err' && seq > ended.seq),
      'saving\n',
    );
    assert.equal(
      textOf(({ span, data, seq }) => span === undefined && data.stream === 'out' && seq > ended.seq),
      'not a message\nnor is this\n',
    );
    assert.equal(events.at(-1)?.kind, 'rollout.end');
  });

  it('of a server that exits is reported at the end, with its exit', async () => {
    const tools = await openTools([entry], environment);
    const context = callContext();
    assert.equal((await callTool(tools, 'leave', {}, context)).response, 'done');
    // The server has ended when its group has.
    while (bench.groups.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const { onLog, err } = words();
    await tools.close(onLog);
    assert.equal(
      `${context.logs.map((log) => log.replace(/^err: /, '')).join('')}${err()}`,
      'starting\ncalled leave\nleaving\n[the server exited with code 7]\n',
    );
  });

  it('of a module is reported at the end: what it printed and threw after its calls', async () => {
    const module = { kind: 'module', module: await bench.module('hostile.ts') } as const;
    const [tools, others] = await Promise.all([openTools([module], environment), openTools([module], environment)]);
    const file = path.join(bench.cwd, 'printed');
    const context = callContext();
    await callTool(tools, 'prints_after', { text: 'a last word', file }, context);
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
    // One thread runs both. It sends what was printed after it has handled a message that waits already, so events
    // before the second answer have arrived.
    for (const a of [1, 2]) await callTool(others, 'fine', { a });
    const { onLog, out } = words();
    await tools.close(onLog);
    // On a busy machine, the response and the last word arrive at once, and the call is still being answered.
    assert.equal(`${context.logs.map((log) => log.replace(/^out: /, '')).join('')}${out()}`, 'a last word\n');
    await others.close();
  });
});

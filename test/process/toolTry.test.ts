// Tools tried without a batch: of a module, of built-ins and MCP servers that an agent file names.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import type { Json } from '../../src/common/json.ts';
import { listTools, readToolFile, tryTool, type TriedCall } from '../../src/rerun/tryTool.ts';

const EVERYTHING = path.resolve(import.meta.dirname, '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js');
let folder: string;

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'try-'));
  await mkdir(path.join(folder, 'tools'));
  await writeFile(path.join(folder, 'package.json'), '{}');
  await writeFile(path.join(folder, 'tools', 'words.ts'), `import { writeFileSync } from 'node:fs';
import { tool } from 'rollout-studio';
import { z } from 'zod';
let made = 0;
export const count = tool({ description: 'Counts.', input: z.object({ text: z.string() }), effect: 'pure', output: z.object({ words: z.int() }), run: ({ text }, { log }) => {
  log('counting');
  return { words: text.split(' ').length };
} });
export const fail = tool({ description: 'Fails.', input: z.object({}), run: () => {
  throw new Error('no such word');
} });
export const flaky = tool({ description: 'Fails once.', input: z.object({}), idempotent: true, retry: { times: 2, wait_seconds: 0 }, run: () => {
  if (made++ === 0) throw new Error('busy');
  return made;
} });
export const slow = tool({ description: 'Waits.', input: z.object({}), timeout_seconds: 0.2, run: () => new Promise(() => undefined) });
export const endless = tool({ description: 'Waits.', input: z.object({ at: z.string() }), run: ({ at }) => {
  writeFileSync(at, '');
  return new Promise(() => undefined);
} });
export const where = tool({ description: 'Tells.', input: z.object({}), run: (_args, { cwd, env }) => ({ cwd, names: Object.keys(env) }) });
`);
  await writeFile(path.join(folder, 'desk.agent.yaml'), `version: 1
name: desk
model: { endpoint: 'http://localhost:1/v1', name: x, api_key: '\${env:NOT_ASKED_FOR}' }
prompt: hello
tools:
  - builtin: [calculator]
  - module: tools/words.ts
  - mcp: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(EVERYTHING)}, stdio], env: { TOKEN: '\${env:TRY_TOKEN}' } }
    tools: [echo]
  - mcp: { command: rollout-no-such-program }
`);
});
after(() => rm(folder, { recursive: true, force: true }));

const never = new AbortController().signal;
async function tried(file: string, tool: string, args: Json, { env = { TRY_TOKEN: 'x' }, signal = never }: { env?: Record<string, string>; signal?: AbortSignal } = {}): Promise<TriedCall> {
  return tryTool(await readToolFile(file, folder, process.env), { tool, arguments: args }, env, () => undefined, signal);
}

describe('a tool that is tried', () => {
  it('is listed with what it takes and gives', async () => {
    const { tools, problems } = await listTools(await readToolFile('tools/words.ts', folder, process.env), {}, never);
    assert.deepEqual(problems, []);
    assert.deepEqual(tools.map(({ name }) => name), ['count', 'endless', 'fail', 'flaky', 'slow', 'where']);
    assert.deepEqual(tools[0]?.output?.['required'], ['words']);
    assert.equal(tools[0].place?.file, 'tools/words.ts');
  });

  it('gives its result, its time and what it printed', async () => {
    const { status, result, ms, log } = await tried('tools/words.ts', 'count', { text: 'one two' });
    assert.deepEqual([status, result, log], ['ok', { words: 2 }, 'counting\n']);
    assert.ok(ms > 0);
  });

  it('fails with a stack in the source, with words about wrong arguments, and in time', async () => {
    const { error } = await tried('tools/words.ts', 'fail', {});
    assert.deepEqual([error?.class, error?.place], ['tool_error', { file: 'tools/words.ts', line: 10, column: 9 }]);
    assert.match(error?.stack ?? '', /at .*\(?tools\/words\.ts:10:9\)?/);
    assert.equal((await tried('tools/words.ts', 'count', { txt: 1 })).error?.class, 'invalid_arguments');
    assert.equal((await tried('tools/words.ts', 'slow', {})).error?.class, 'timeout');
  });

  it('is made again where it says so', async () => {
    const { result, retries } = await tried('tools/words.ts', 'flaky', {});
    assert.deepEqual([result, retries?.map((retry) => retry.class)], [2, ['tool_error']]);
  });

  it('has a working directory of its own that is gone afterwards, and the allowed environment', async () => {
    process.env['TRY_SECRET'] = 'hidden';
    const { result } = await tried('tools/words.ts', 'where', {});
    const { cwd, names } = result as { cwd: string; names: string[] };
    assert.ok(names.includes('PATH') && !names.includes('TRY_SECRET'));
    assert.notEqual(cwd, folder);
    assert.ok(!existsSync(cwd));
  });

  it('ends when somebody cancels it', async () => {
    const at = path.join(folder, 'started');
    const stop = new AbortController();
    const running = tried('tools/words.ts', 'endless', { at }, { signal: stop.signal });
    while (!existsSync(at)) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort();
    await assert.rejects(running, (error) => StudioError.is(error, 'cancelled'));
  });

  it('may be a built-in, a module or a server of an agent; one that cannot be opened keeps none of the others away', async () => {
    const file = await readToolFile('desk.agent.yaml', folder, process.env);
    const { tools, problems } = await listTools(file, { TRY_TOKEN: 'x' }, never);
    assert.deepEqual(tools.map(({ name, from }) => `${from.kind} ${name}`).filter((name) => /calculate|count|echo/.test(name)), ['builtin calculate', 'module count', 'mcp echo']);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', /^desk\.agent\.yaml:10:5: the MCP server "rollout-no-such-program" could not be started: there is no such program\./);
    assert.equal((await tried('desk.agent.yaml', 'calculate', { expression: '6*7' })).result, 42);
    assert.equal((await tried('desk.agent.yaml', 'echo', { message: 'hi' })).result, 'Echo: hi');
    await assert.rejects(tried('desk.agent.yaml', 'echo', {}, { env: {} }), (error) => StudioError.is(error, 'config') && JSON.stringify(error.details) === '{"missing":["TRY_TOKEN"]}');
  });

  it('must be there', async () => {
    await assert.rejects(tried('tools/words.ts', 'nothing', {}), /tools\/words\.ts has no tool nothing\./);
    await assert.rejects(readToolFile('package.json', folder, process.env), (error) => StudioError.is(error, 'usage'));
  });
});

// Tools tried without a batch: of a module, of built-ins and MCP servers that an agent file names.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { StudioError } from '../../src/common/errors.ts';
import { seedOf } from '../../src/common/hash.ts';
import type { Json } from '../../src/common/json.ts';
import type { TriedCall } from '../../src/rerun/tryEnvironment.ts';
import { readBatchWorld, tryInWorld } from '../../src/rerun/tryInWorld.ts';
import { listTools, readToolFile, tryTool } from '../../src/rerun/tryTool.ts';
import { sandboxSupport } from '../../src/tools/sandbox/open.ts';

const EVERYTHING = path.resolve(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
);
let folder: string;

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'try-'));
  await mkdir(path.join(folder, 'tools'));
  await writeFile(path.join(folder, 'package.json'), '{}');
  await writeFile(
    path.join(folder, 'tools', 'words.ts'),
    `import { readFileSync } from 'node:fs';
import { tool } from 'rollout-studio';
import { z } from 'zod';
let calls = 0;
export const count = tool({ description: 'Counts.', input: z.object({ text: z.string() }), effect: 'pure', output: \
z.object({ words: z.int() }), run: ({ text }, { log }) => {
  log('counting');
  return { words: text.split(' ').length };
} });
export const fail = tool({ description: 'Fails.', input: z.object({}), run: () => {
  throw new Error('no such word');
} });
export const flaky = tool({ description: 'Fails once.', input: z.object({}), idempotent: true, retry: { times: 2, \
wait_seconds: 0 }, run: () => {
  if (calls++ === 0) throw new Error('busy');
  return calls;
} });
export const slow = tool({ description: 'Waits.', input: z.object({}), timeout_seconds: 0.2, run: () => new \
Promise(() => undefined) });
export const endless = tool({ description: 'Waits.', input: z.object({}), run: (_args, { log }) => {
  log('started');
  return new Promise(() => undefined);
} });
export const look = tool({ description: 'Reads.', input: z.object({ file: z.string() }), run: ({ file }) => \
readFileSync(file, 'utf8') });
export const where = tool({ description: 'Tells.', input: z.object({}), run: (_args, { cwd, env }) => ({ cwd, names: \
Object.keys(env) }) });
`,
  );
  await writeFile(
    path.join(folder, 'desk.agent.yaml'),
    `version: 1
name: desk
model: { endpoint: 'http://localhost:1/v1', name: x, api_key: '\${env:NOT_ASKED_FOR}' }
prompt: hello
tools:
  - builtin: [calculator]
  - module: tools/words.ts
  - mcp: { command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(EVERYTHING)}, stdio], env: { TOKEN: \
'\${env:TRY_TOKEN}' } }
    tools: [echo]
  - mcp: { command: rollout-no-such-program }
`,
  );
});
after(() => rm(folder, { recursive: true, force: true }));

const support = await sandboxSupport();
const never = new AbortController().signal;
async function tried(
  file: string,
  tool: string,
  args: Json,
  {
    env = { TRY_TOKEN: 'x' },
    signal = never,
    print = () => undefined,
  }: { env?: Record<string, string>; signal?: AbortSignal; print?: (text: string) => void } = {},
): Promise<TriedCall> {
  return tryTool(await readToolFile(file, folder, process.env), { tool, arguments: args }, env, print, signal);
}

describe('a tool that is tried', () => {
  it('is listed with its parameters and results', async () => {
    const { tools, problems } = await listTools(await readToolFile('tools/words.ts', folder, process.env), {}, never);
    assert.deepEqual(problems, []);
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['count', 'endless', 'fail', 'flaky', 'look', 'slow', 'where'],
    );
    assert.deepEqual(tools[0]?.output?.['required'], ['words']);
    assert.equal(tools[0].place?.file, 'tools/words.ts');
  });

  it('returns its result, its time, and its output', async () => {
    const { status, result, ms, log } = await tried('tools/words.ts', 'count', { text: 'one two' });
    assert.deepEqual([status, result, log], ['ok', { words: 2 }, 'counting\n']);
    assert.ok(ms > 0);
  });

  it('fails with a stack in the source, with a message about wrong arguments, and by its time-out', async () => {
    const { error } = await tried('tools/words.ts', 'fail', {});
    assert.deepEqual([error?.class, error?.place], ['tool_error', { file: 'tools/words.ts', line: 10, column: 9 }]);
    assert.match(error?.stack ?? '', /at .*\(?tools\/words\.ts:10:9\)?/);
    assert.equal((await tried('tools/words.ts', 'count', { txt: 1 })).error?.class, 'invalid_arguments');
    assert.equal((await tried('tools/words.ts', 'slow', {})).error?.class, 'timeout');
  });

  it('is retried where its definition says so', async () => {
    const { result, retries } = await tried('tools/words.ts', 'flaky', {});
    assert.deepEqual([result, retries?.map((retry) => retry.class)], [2, ['tool_error']]);
  });

  it('has a temporary working directory of its own, and the allowed environment', async () => {
    process.env['TRY_SECRET'] = 'hidden';
    const { result } = await tried('tools/words.ts', 'where', {});
    const { cwd, names } = result as { cwd: string; names: string[] };
    assert.ok(names.includes('PATH') && !names.includes('TRY_SECRET'));
    assert.notEqual(cwd, folder);
    assert.ok(!existsSync(cwd));
  });

  it('reads files of the workspace, since no batch names any, and no others', {
    skip: support.works ? false : support.reason,
  }, async () => {
    assert.equal((await tried('tools/words.ts', 'look', { file: path.join(folder, 'package.json') })).result, '{}');
    const other = `${folder}-other`;
    await writeFile(other, 'x');
    const { error } = await tried('tools/words.ts', 'look', { file: other });
    await rm(other);
    assert.match(error?.message ?? '', /^ENOENT: .*Modules run in a sandbox\. If it exists, add it/);
  });

  it('ends when somebody cancels it', async () => {
    const stop = new AbortController();
    const running = tried(
      'tools/words.ts',
      'endless',
      {},
      { signal: stop.signal, print: (text) => text.includes('started') && stop.abort() },
    );
    await assert.rejects(running, (error) => StudioError.is(error, 'cancelled'));
  });

  it('may be a built-in, a module, or a server of an agent; one that cannot be opened leaves the others', async () => {
    const file = await readToolFile('desk.agent.yaml', folder, process.env);
    const { tools, problems } = await listTools(file, { TRY_TOKEN: 'x' }, never);
    assert.deepEqual(
      tools.map(({ name, from }) => `${from.kind} ${name}`).filter((name) => /calculate|count|echo/.test(name)),
      ['builtin calculate', 'module count', 'mcp echo'],
    );
    assert.equal(problems.length, 1);
    assert.match(
      problems[0] ?? '',
      /^desk\.agent\.yaml:10:5: the MCP server "rollout-no-such-program" could not be started: program not found\./,
    );
    assert.equal((await tried('desk.agent.yaml', 'calculate', { expression: '6*7' })).result, 42);
    assert.equal((await tried('desk.agent.yaml', 'echo', { message: 'hi' })).result, 'Echo: hi');
    await assert.rejects(
      tried('desk.agent.yaml', 'echo', {}, { env: {} }),
      (error) => StudioError.is(error, 'config') && JSON.stringify(error.details) === '{"missing":["TRY_TOKEN"]}',
    );
  });

  it('must exist', async () => {
    await assert.rejects(tried('tools/words.ts', 'nothing', {}), /tools\/words\.ts has no tool nothing\./);
    await assert.rejects(readToolFile('package.json', folder, process.env), (error) => StudioError.is(error, 'usage'));
  });
});

describe('a tool that is tried in a world', () => {
  const RENEW = { tool: 'renew_loan', arguments: { loan_id: 'L-3001' } };
  let desk: string;

  before(async () => {
    desk = path.join(folder, 'desk');
    await cp(path.resolve(import.meta.dirname, '../../media/sample'), desk, { recursive: true });
    await writeFile(path.join(desk, 'package.json'), '{}');
    const batch = (world: string): string =>
      `version: 1\nagent: ../agents/desk.agent.yaml\n${world}dataset: { file: ../data/tasks.jsonl, question: ` +
      'question, answer: answer }\nscorer: { kind: contains }\nseed: 7\n';
    await writeFile(path.join(desk, 'batches', 'alone.batch.yaml'), batch(''));
    await writeFile(path.join(desk, 'batches', 'closed.batch.yaml'), batch('world: ../worlds/closed.world.yaml\n'));
    await writeFile(
      path.join(desk, 'worlds', 'closed.world.yaml'),
      'version: 1\nname: closed\nkind: module\nmodule: closed.ts\n',
    );
    await writeFile(
      path.join(desk, 'worlds', 'closed.ts'),
      'export function open(task: { id: string }): never {\n  throw new Error(`no key for ${task.id}`);\n}\n',
    );
    await writeFile(path.join(desk, 'batches', 'probe.batch.yaml'), batch('world: ../worlds/probe.world.yaml\n'));
    await writeFile(
      path.join(desk, 'worlds', 'probe.world.yaml'),
      'version: 1\nname: probe\nkind: module\nmodule: probe.ts\n',
    );
    await writeFile(
      path.join(desk, 'worlds', 'probe.ts'),
      `import { tool, type ToolContext } from 'rollout-studio';
import { z } from 'zod';
export function open(task: { id: string }, worldSeed: number) {
  const seeds = tool({ description: 'Tells.', input: z.object({}), run: (_args, { seed, state }: ToolContext<{ task: \
string }>) => ({ seed, worldSeed, ...state }) });
  const half = tool({ description: 'Fails half way.', input: z.object({}), run: () => { throw new Error('half done'); \
} });
  return { tools: { seeds, half }, state: { task: task.id }, diff: () => [{ table: 'rows', key: 1, op: 'insert' as \
const }], close: () => { console.log('closed'); } };
}
`,
    );
  });

  const within = async (
    batch: string,
    {
      file = 'tools/loans.ts',
      task,
      call = RENEW,
    }: { file?: string; task?: string; call?: { tool: string; arguments: Json } } = {},
  ): Promise<TriedCall> =>
    tryInWorld(
      await readBatchWorld(`batches/${batch}.batch.yaml`, task, desk, {}),
      path.join(desk, file),
      call,
      () => undefined,
      never,
    );

  it('is called with its state, and its changes are reported', async () => {
    const { status, result, changes, world } = await within('desk');
    assert.deepEqual(
      [status, result],
      ['ok', { loan_id: 'L-3001', title: 'The Salt Road', due: '2026-04-03', renewals: 1 }],
    );
    assert.deepEqual(
      changes?.map(({ op, table, key }) => [op, table, key]),
      [['update', 'loans', 'L-3001']],
    );
    assert.deepEqual(
      world,
      { name: 'library', task: 'renew-one', seed: 1 },
      'of the first task, with the seed of its record',
    );
    assert.deepEqual((await within('desk')).changes, changes, 'nothing is left of the one before');
  });

  it('is called as the first call of the first attempt at the task, and the world is closed', async () => {
    const { result, log, changes } = await within('probe', {
      file: 'worlds/probe.ts',
      task: 'return-one',
      call: { tool: 'seeds', arguments: {} },
    });
    assert.deepEqual(result, {
      seed: seedOf(seedOf(7, 'return-one', 1), 'desk', 1, 0),
      worldSeed: 2,
      task: 'return-one',
    });
    assert.deepEqual([log, changes?.length], ['closed\n', 1]);
    const failed = await within('probe', { file: 'worlds/probe.world.yaml', call: { tool: 'half', arguments: {} } });
    assert.deepEqual(
      [failed.error?.message, failed.changes?.length],
      ['half done', 1],
      'also one that fails may have changed something',
    );
  });

  it('reports a missing world', async () => {
    const alone = await tryTool(await readToolFile('tools/loans.ts', desk, {}), RENEW, {}, () => undefined, never);
    assert.equal(alone.needs_world, true);
    assert.match(
      alone.error?.message ?? '',
      /^`state` is undefined because no world is open: Cannot read properties of undefined \(reading 'renew'\)$/,
    );
    assert.equal((await tried('tools/words.ts', 'fail', {})).needs_world, undefined);
    await assert.rejects(within('alone'), /batches\/alone\.batch\.yaml has no world\./);
  });

  it('must be of that world, and of a task of that batch', async () => {
    await assert.rejects(
      within('desk', { task: 'renew-on' }),
      (error) =>
        StudioError.is(error, 'config') &&
        /batches\/desk\.batch\.yaml:4:.*no task `renew-on`.*Did you mean `renew-one`\?/s.test(error.message),
    );
    await assert.rejects(
      within('desk', { call: { ...RENEW, tool: 'renew' } }),
      /The world library of batches\/desk\.batch\.yaml has no tool renew\./,
    );
    await assert.rejects(within('probe'), /loans\.ts is not part of the world probe/);
    await assert.rejects(
      within('closed', { file: 'worlds/closed.ts' }),
      (error) =>
        StudioError.is(error, 'config') &&
        error.message.startsWith(
          'worlds/closed.ts:2:9: cannot open the world closed for task renew-one: no key for renew-one',
        ),
    );
  });
});

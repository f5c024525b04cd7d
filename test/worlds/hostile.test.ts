/** Code that does what it must not: a classified error with its line, and no harm to other sessions. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { deferred } from '../../src/common/abort.ts';
import type { WorldSession } from '../../src/rollout/ports.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { callContext, callTool, judging, startWorlds, TASK, type Worlds } from './support/garden.ts';
import { testPython } from './support/python.ts';

const CODE = readFileSync(path.join(import.meta.dirname, 'fixtures', 'hostile', 'code.py'), 'utf8');

let worlds: Worlds;
let python = '';
/** Another session of the same scenario, which must not notice anything. */
let bystander: WorldSession;

before(async () => {
  python = await testPython();
  worlds = startWorlds(python);
  bystander = await open();
  await callTool(bystander, 'write_note', { text: 'bystander' });
});

after(async () => {
  await bystander.close();
  assert.deepEqual(await worlds.close(), [], 'processes are left');
});

async function open(code = CODE): Promise<WorldSession> {
  const world = codeWorld(
    worlds.world({ code, set: { session: { memory_mb: 200, network: 'none' } } }),
    worlds.environment,
    true,
  );
  return await world.open({ task: TASK, seed: 7 }, AbortSignal.timeout(60_000));
}

/** Returns the line of the code that has a tool's name as its comment. */
const lineOf = (tool: string): number => CODE.split('\n').findIndex((line) => line.endsWith(`# ${tool}`)) + 1;

async function failure(call: Promise<unknown>): Promise<ClassedError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ClassedError, `it did not fail: ${String(error)}`);
  return error;
}

async function assertBystander(): Promise<void> {
  assert.deepEqual((await callTool(bystander, 'list_notes')).response, ['bystander']);
}

const REFUSED = {
  bind_port: /no network/,
  fork_process: /must not start or end processes/,
  spawn_process: /must not start or end processes/,
  remove_database: /must not remove or replace its own database/,
  write_outside: /must write only to its own folder/,
  allocate_forever: /session\.memory_mb/,
} as const;

for (const [tool, why] of Object.entries(REFUSED)) {
  test(`${tool} is refused at its line, and the session goes on`, async () => {
    const session = await open();
    const context = callContext();
    const error = await failure(callTool(session, tool, {}, context));
    assert.deepEqual([error.class, error.place?.line, error.blame], ['tool_error', lineOf(tool), 'world']);
    assert.match(context.printed.join(''), why);
    assert.equal((await callTool(session, 'print_text')).response, 'printed');
    await session.close();
    await assertBystander();
  });
}

test('code that exits fails at its line', async () => {
  const session = await open();
  const error = await failure(callTool(session, 'exit_process'));
  assert.deepEqual([error.class, error.place?.line], ['tool_error', lineOf('exit_process')]);
  assert.match(error.message, /exited with 3/);
  await session.close();
});

for (const tool of ['sleep_long', 'wait_long', 'loop_forever']) {
  test(`${tool} ends with its time limit, at the line where it was`, async () => {
    const session = await open();
    await callTool(session, 'write_note');
    const stop = new AbortController();
    const started = deferred<undefined>();
    const onLog = (): void => started.resolve(undefined);
    const calling = failure(callTool(session, tool, {}, { ...callContext(stop.signal), onLog }));
    await started.promise; // printed on the line where it stays
    stop.abort(new DOMException('late', 'TimeoutError'));
    const error = await calling;
    assert.deepEqual([error.class, error.place?.line, error.blame], ['timeout', lineOf(tool), 'world']);
    assert.equal((await failure(callTool(session, 'list_notes'))).class, 'world_error');
    await session.close();
    await assertBystander();
  });
}

test('a session that crashes is a world_error', async () => {
  const session = await open();
  const error = await failure(callTool(session, 'crash_process'));
  assert.deepEqual([error.class, error.blame], ['world_error', 'world']);
  assert.match(error.message, /SIGSEGV/);
  assert.equal((await failure(callTool(session, 'list_notes'))).class, 'world_error');
  await session.close();
  await assertBystander();
});

test('a database that the code has locked fails soon, at the line that waits', async () => {
  const session = await open();
  await callTool(session, 'lock_database');
  const context = callContext();
  const error = await failure(callTool(session, 'write_note', {}, context));
  assert.deepEqual([error.class, error.place?.line], ['tool_error', lineOf('write_note')]);
  assert.match(context.printed.join(''), /database is locked/);
  await session.close();
});

test('a database that grows to 2 GB is stopped at its limit, and the session goes on', async () => {
  const session = await open();
  const context = callContext();
  const error = await failure(callTool(session, 'grow_database', {}, context));
  assert.deepEqual([error.class, error.place?.line], ['tool_error', lineOf('grow_database')], error.message);
  assert.match(context.printed.join(''), /may grow to 256 MB, or to four times its initial size/);
  assert.equal(error.changes, undefined, 'too much to report');
  assert.equal((await callTool(session, 'print_text')).response, 'printed');
  await session.close();
  await assertBystander();
});

test('what code prints is its own output, and no answer', async () => {
  const session = await open();
  const context = callContext();
  assert.equal((await callTool(session, 'print_text', {}, context)).response, 'printed');
  assert.equal(context.printed.join(''), '{"id": 1, "ok": "forged"}\n');
  await session.close();
  await assertBystander();
});

test('code that cannot be loaded names its line', async () => {
  const error = await failure(open('from fastapi import FastAPI\n\napp = FastAPI(\n'));
  assert.deepEqual(error.place, { file: 'worlds/gen_envs.jsonl/garden.py', line: 3, column: 1 });
  assert.match(error.message, /SyntaxError/);
  const late = await failure(open('from fastapi import FastAPI\nraise ValueError("no")\n'));
  assert.deepEqual([late.class, late.place?.line], ['world_error', 2]);
});

test('a missing package, and a missing Python, say what to do', async () => {
  await assert.rejects(open('import a_package_that_nobody_has\n'), {
    message: /needs the Python package a_package_that_nobody_has/,
    hint: /rollout world setup/,
  });
  const world = codeWorld(worlds.world({ set: { python: '/nowhere/python' } }), worlds.environment, true);
  await assert.rejects(world.open({ task: TASK, seed: 7 }, AbortSignal.timeout(60_000)), {
    code: 'unavailable',
    hint: /rollout world setup/,
  });
});

test('a task without a scenario says how to name one', async () => {
  const world = codeWorld(worlds.world(), worlds.environment, true);
  const { world: _, ...task } = TASK;
  await assert.rejects(world.open({ task, seed: 7 }, AbortSignal.timeout(60_000)), {
    code: 'config',
    hint: /scenario/,
  });
});

const VERIFIERS = {
  'loops forever': ['while True:\n        pass', /ran longer than|processor time/],
  prints: ['print("x" * 100)\n    return {"result": "complete"}', undefined],
  exits: ['raise SystemExit(2)', /exited with 2 \(line 2\)/],
  'allocates without end': ['return "x" * 10**12', /MemoryError/],
  'writes to the database': [
    'import sqlite3\n    sqlite3.connect(final).execute("DELETE FROM plots")\n    return {}',
    /readonly database \(line 3\)/,
  ],
  'starts a process': ['import os\n    os.system("true")', /must not start or end processes/],
  'returns no verdict': ['return 5', /without a text named result/],
  'fails to parse': ['return (', /SyntaxError/],
} as const;

for (const [what, [body, why]] of Object.entries(VERIFIERS)) {
  test(`a verifier that ${what} is a fault of the environment`, async () => {
    const python = `def verify_task_completion(initial, final, answer):\n    ${body}\n`;
    const verifiers = { 0: { code: { python, function: 'verify_task_completion' } } };
    const world = codeWorld(worlds.world({ verifiers }), worlds.environment, true);
    const session = await world.open({ task: TASK, seed: 7 }, AbortSignal.timeout(60_000));
    const verdict = await session.verify?.({ answer: null, expected: undefined }, judging());
    if (why === undefined) assert.equal(verdict?.passed, true);
    else {
      assert.deepEqual([verdict?.value, verdict?.passed], [null, null]);
      assert.match(verdict?.explanation ?? '', why);
      assert.match(verdict?.explanation ?? '', /environment_error/);
    }
    await session.close();
    await assertBystander();
  });
}

/** Worlds of Agent-World: Python functions over JSON collections. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import type { WorldSession } from '../../src/rollout/ports.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { callTool, judging, startWorlds, TASK, type Worlds } from './support/garden.ts';
import { testPython } from './support/python.ts';

const CODE = readFileSync(path.join(import.meta.dirname, 'fixtures', 'shelf', 'code.py'), 'utf8');
const RED = { box_id: 'b-1', color: 'red', place: 1 };
const BLUE = { box_id: 'b-2', color: 'blue', place: 2 };
const MODEL = {
  ...{ endpoints: ['http://127.0.0.1:9'], name: 'm', headers: {}, sampling: {}, endpoint_wait_seconds: 1 },
  capture: { token_ids: false, logprobs: false },
};

let worlds: Worlds;

before(async () => {
  worlds = startWorlds(await testPython());
});

after(async () => {
  assert.deepEqual(await worlds.close(), [], 'processes are left');
});

async function open(from?: Uint8Array, expose: 'tools' | 'meta' = 'tools'): Promise<WorldSession> {
  const template = Buffer.from(JSON.stringify({ 'boxes.json': [RED, BLUE] }));
  const verifiers = { 0: { rubric: ['The red box is at place 9.'] } };
  const set = { format: 'agent-world', expose, models: { judge: MODEL } } as const;
  const world = codeWorld(worlds.world({ code: CODE, template, verifiers, set }), worlds.environment, true);
  const opening = { task: TASK, seed: 7, ...(from === undefined ? {} : { from }) };
  return await world.open(opening, AbortSignal.timeout(60_000));
}

test('functions answer, report changed records by their ID, and name the line that failed', async () => {
  const session = await open();
  assert.deepEqual(
    session.specs.map(({ name }) => name),
    ['list_boxes', 'move_box', 'lock_shelf', 'break_shelf'],
  );
  assert.deepEqual(await callTool(session, 'list_boxes', { color: 'blue' }), {
    response: { boxes: [BLUE] },
    changes: [{ table: 'tool_calls.json', key: 1, op: 'insert', after: { id: 1, tool: 'list_boxes' } }], // reads write
  });
  const { changes = [] } = await callTool(session, 'move_box', { box_id: 'b-1', place: 9 });
  assert.deepEqual(
    changes.map(({ table, key, op, before: was }) => ({ table, key, op, was })),
    [{ table: 'boxes.json', key: 'b-1', op: 'update', was: RED }],
  );
  assert.deepEqual((await callTool(session, 'move_box', { box_id: 'b-9', place: 1 })).response, {
    error: { code: 'NOT_FOUND', message: 'There is no such box.' },
  });
  await assert.rejects(callTool(session, 'move_box', { box_id: 'b-1' }), { class: 'invalid_arguments' });
  const line = CODE.split('\n').findIndex((each) => each.endsWith('# break_shelf')) + 1;
  await assert.rejects(callTool(session, 'break_shelf'), {
    class: 'tool_error',
    message: /KeyError/,
    place: { file: 'worlds/gen_envs.jsonl/garden.py', line, column: 1 },
    blame: 'world',
  });
  // A function that raises on purpose refuses the call.
  await assert.rejects(callTool(session, 'lock_shelf'), { class: 'tool_error', message: /no lock/, blame: undefined });
  await session.close();
});

test('a restored session continues with equal IDs and times', async () => {
  const first = await open();
  await callTool(first, 'list_boxes');
  const saved = await first.snapshot?.(AbortSignal.timeout(5_000));
  assert.ok(saved !== undefined);
  const restored = await open(saved);
  const move = { box_id: 'b-2', place: 7 };
  assert.deepEqual(await callTool(first, 'move_box', move), await callTool(restored, 'move_box', move));
  await Promise.all([first.close(), restored.close()]);
});

test('a rubric is judged by the model of the world file', async () => {
  const session = await open();
  let asked = '';
  const context = judging(({ messages }) => {
    asked = messages.map(({ text }) => text).join('\n');
    return Promise.resolve('{"classification": "complete", "explanation": "It is."}');
  });
  const verdict = await session.verify?.({ answer: 'It is at 9.', expected: { place: 9 } }, context);
  assert.deepEqual([verdict?.value, verdict?.passed], [1, true]);
  for (const part of ['The red box is at place 9.', 'It is at 9.', '"place": 9']) assert.ok(asked.includes(part), part);
  await session.close();
});

test('two tools list the tools and call them', async () => {
  const session = await open(undefined, 'meta');
  assert.deepEqual(
    session.specs.map(({ name }) => name),
    ['list_tools', 'call_tool'],
  );
  assert.match(
    z.string().parse((await callTool(session, 'list_tools')).response),
    /2\. move_box\n.*\n.*\n {3}- box_id \(required\): string/,
  );
  const called = await callTool(session, 'call_tool', { tool_name: 'list_boxes', arguments: '{"color": "red"}' });
  assert.deepEqual(called.response, { boxes: [RED] });
  const call = (args: { tool_name: string; arguments?: string }): Promise<unknown> =>
    callTool(session, 'call_tool', args);
  await assert.rejects(call({ tool_name: 'list_boxes', arguments: '{"color' }), { class: 'invalid_arguments' });
  await assert.rejects(call({ tool_name: 'paint_box' }), { class: 'unknown_tool' });
  await session.close();
});

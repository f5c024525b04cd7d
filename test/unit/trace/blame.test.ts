// Which tasks are set aside because all their failures blame the world.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Json } from '../../../src/common/json.ts';
import type { ErrorClass } from '../../../src/trace/schema.ts';
import { type RunOfTask, tasksToSetAside, worldReasons } from '../../../src/trace/toolCalls/blame.ts';

type Call = RunOfTask['calls'][number];

const answered = (result: Json): Call => ({ tool: 'find', error: undefined, values: { arguments: {}, result } });
const failed = (message: string, kind: ErrorClass = 'tool_error', tool = 'find'): Call => ({
  tool,
  error: { class: kind, message },
  values: undefined,
});
const run = (calls: readonly Call[], more: Partial<RunOfTask> = {}): RunOfTask => ({
  ...{ task: 't', passed: false, errorClass: undefined, calls },
  ...more,
});
const FAULT = failed('Error calling find. Status code: 500. Response: Internal Server Error');
const LOST = failed('Error calling find. Status code: 404. Response: {"detail":"Not Found"}');

it('blames the world for its faults, missing endpoints, and only empty results', () => {
  assert.deepEqual(worldReasons(run([answered('x'), FAULT, FAULT])), ['find failed in its code']);
  assert.deepEqual(worldReasons(run([LOST, LOST])), ['find has no endpoint']);
  assert.deepEqual(worldReasons(run([answered([]), answered({ rows: [], next: null })])), ['all results were empty']);
  assert.deepEqual(worldReasons(run([], { errorClass: 'world_error' })), ['the world ended']);
});

it('does not blame the world for what an agent does wrong', () => {
  for (const calls of [
    [],
    [answered('x')],
    [answered([]), answered([{ id: 1 }])],
    [LOST],
    [failed('find: `id` must be a number', 'invalid_arguments'), failed('Status code: 422', 'invalid_arguments')],
    [failed('Error calling find. Status code: 404. Response: {"detail":"There is no such plot"}')],
    [answered([]), failed('Unknown tool "fnid".', 'unknown_tool')],
  ])
    assert.deepEqual(worldReasons(run(calls)), [], JSON.stringify(calls));
});

it('sets a task aside only if no attempt passed, and all blame the world', () => {
  const blamed = run([FAULT]);
  const own = run([answered('x')]);
  const tasks: Readonly<Record<string, readonly RunOfTask[]>> = {
    all: [blamed, blamed, run([LOST, LOST])],
    some: [blamed, own],
    passed: [blamed, { ...blamed, passed: true }],
    unscored: [{ ...blamed, passed: null }],
  };
  const runs = Object.entries(tasks).flatMap(([task, list]) => list.map((each) => ({ ...each, task })));
  assert.deepEqual(tasksToSetAside(runs), [
    { task: 'all', attempts: 3, reasons: ['find failed in its code', 'find has no endpoint'] },
    { task: 'unscored', attempts: 1, reasons: ['find failed in its code'] },
  ]);
});

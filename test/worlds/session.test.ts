import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Verdict, WorldSession } from '../../src/rollout/ports.ts';
import { ClassedError } from '../../src/trace/classedError.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { callContext, callTool, GARDEN_CODE, judging, startWorlds, TASK, type Worlds } from './support/garden.ts';
import { worldProcesses } from './support/processes.ts';
import { testPython } from './support/python.ts';

const FAILING_LINE = GARDEN_CODE.split('\n').findIndex((line) => line.includes('id=gardener.id')) + 1;

let worlds: Worlds;
const signal = (): AbortSignal => AbortSignal.timeout(60_000);

before(async () => {
  worlds = startWorlds(await testPython());
});

after(async () => {
  assert.deepEqual(await worlds.close(), [], 'processes are left');
});

async function open(seed = 7, from?: Uint8Array): Promise<WorldSession> {
  const world = codeWorld(worlds.world(), worlds.environment, true);
  return await world.open({ task: TASK, seed, ...(from === undefined ? {} : { from }) }, signal());
}

test('a session answers, reports the rows that changed, and names the line that failed', async () => {
  const session = await open();
  try {
    assert.equal(session.specs.length, 11);
    assert.deepEqual(await callTool(session, 'list_plots', { free: true, minimum: 10 }), {
      response: [{ id: 3, code: 'B1', square_meters: 20, gardener_id: null }],
      changes: [],
    });
    const { changes } = await callTool(session, 'assign_plot', { plot_id: 3, gardener_id: 3 });
    const row = { id: 3, code: 'B1', square_meters: 20 };
    assert.deepEqual(changes, [
      {
        table: 'plots',
        key: 3,
        op: 'update',
        before: { ...row, gardener_id: null },
        after: { ...row, gardener_id: 3 },
      },
    ]);
    const context = callContext();
    await assert.rejects(callTool(session, 'get_gardener', { gardener_id: 99 }, context), (error) => {
      assert.ok(error instanceof ClassedError);
      assert.equal(error.class, 'tool_error');
      assert.deepEqual(error.place, { file: 'worlds/gen_envs.jsonl/garden.py', line: FAILING_LINE, column: 1 });
      assert.match(error.message, /Status code: 500/);
      return true;
    });
    assert.match(context.printed.join(''), /AttributeError/);
    await assert.rejects(callTool(session, 'plant_crop', { plot_id: 3 }), { class: 'invalid_arguments' });
    await assert.rejects(callTool(session, 'water_plot'), { class: 'unknown_tool' });
  } finally {
    await session.close();
  }
});

test('a restored session continues as the one that was saved: state, clock, and IDs', async () => {
  const first = await open();
  await callTool(first, 'record_harvest', { planting_id: 2, kilograms: 1.5 });
  const saved = await first.snapshot?.(signal());
  assert.ok(saved !== undefined && saved.length < 64 * 1024);
  const restored = await open(7, saved);
  const calls = [first, restored].map((each) => callTool(each, 'record_harvest', { planting_id: 1, kilograms: 2 }));
  const [one, other] = await Promise.all(calls);
  assert.deepEqual(one, other);
  assert.deepEqual(await first.snapshot?.(signal()), await restored.snapshot?.(signal()));
  await Promise.all([first.close(), restored.close()]);
});

test('a verifier judges the final state, and each of its checks is a part of the score', async () => {
  const session = await open();
  const done = await open();
  try {
    const judged = { answer: 'done', expected: undefined };
    const before = await session.verify?.(judged, judging());
    assert.deepEqual([before?.value, before?.passed], [0, false]);
    await callTool(done, 'assign_plot', { plot_id: 3, gardener_id: 3 });
    const verdict = await done.verify?.(judged, judging());
    assert.deepEqual([verdict?.value, verdict?.passed], [1, true]);
    assert.deepEqual(verdict?.parts, { 'code verifier': 1 });
  } finally {
    await Promise.all([session.close(), done.close()]);
  }
});

test('a verifier whose process is killed is run again', { skip: process.platform === 'win32' }, async () => {
  const python =
    'import time\n\ndef judge(initial, final, answer):\n    time.sleep(0.3)\n    return {"result": "complete"}\n';
  const verifiers = { 0: { code: { python, function: 'judge' } } };
  const opened = await codeWorld(worlds.world({ verifiers }), worlds.environment, true).open(
    { task: TASK, seed: 7 },
    signal(),
  );
  const judge = (): Promise<Verdict> | undefined => opened.verify?.({ answer: null, expected: undefined }, judging());
  await judge();
  const verdict = judge();
  let running: number | undefined;
  while (running === undefined) {
    await sleep(10); // the system tells nobody when it starts
    const { runners, sessions } = worldProcesses(process.pid);
    running = sessions.length > 1 ? runners.at(-1) : undefined; // the verifiers' was started last
  }
  process.kill(running, 'SIGKILL');
  assert.equal((await verdict)?.passed, true);
  await opened.close();
});

test('evidence is judged by the model of the world file; both verdicts stay apart', async () => {
  const model = { endpoints: ['http://127.0.0.1:9'], name: 'm', headers: {}, sampling: {}, endpoint_wait_seconds: 1 };
  const judge = { ...model, capture: { token_ids: false, logprobs: false } };
  const verdictOf = async (verifier: 'sql' | 'both', models: object, reply: object): Promise<object> => {
    const world = codeWorld(worlds.world({ set: { verifier, models: { ...models } } }), worlds.environment, true);
    const session = await world.open({ task: TASK, seed: 7 }, signal());
    await callTool(session, 'assign_plot', { plot_id: 4, gardener_id: 3 });
    const asked: string[] = [];
    const context = judging(({ messages }) => {
      asked.push(messages.map(({ text }) => text).join('\n'));
      return Promise.resolve(`So: ${JSON.stringify(reply)}`);
    });
    const verdict = await session.verify?.({ answer: 'B2', expected: undefined }, context);
    await session.close();
    return { value: verdict?.value, passed: verdict?.passed, parts: verdict?.parts, asked: asked.join('') };
  };
  const partly = { classification: 'incomplete', confidence: 0.9, explanation: 'The other plot.' };
  const judged = await verdictOf('sql', { judge }, partly);
  assert.match(JSON.stringify(judged), /B2\\": \\"Ines Okafor/);
  const parts = { judge: 0, 'confidence of the judge': 0.9 };
  assert.deepEqual({ ...judged, asked: '' }, { value: 0.1, passed: false, parts, asked: '' });
  const both = await verdictOf('both', { judge }, partly);
  assert.deepEqual(
    { ...both, asked: '' },
    { value: 0, passed: false, parts: { 'code verifier': 0, ...parts }, asked: '' },
  );
  const nobody = await verdictOf('sql', {}, {});
  assert.deepEqual(nobody, { value: null, passed: null, parts: undefined, asked: '' });
  const broken = { classification: 'server_error', explanation: 'It failed.' };
  const environment = await verdictOf('sql', { judge }, broken);
  assert.deepEqual({ ...environment, asked: '' }, { value: null, passed: null, parts: { judge: 0 }, asked: '' });
});

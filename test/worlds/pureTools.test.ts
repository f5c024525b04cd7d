/** Tools that never write, as their code says: they are not repeated, and one that writes after all is caught. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { WorldSession } from '../../src/rollout/ports.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { callTool, GARDEN_CODE, startWorlds, TASK, type Worlds } from './support/garden.ts';
import { replaced } from './support/gardenFolder.ts';
import { testPython } from './support/python.ts';

/** It writes, and leaves no other row behind. */
const START = 'def total_harvests():\n    with SessionLocal() as db:\n';
const SLY_TOTALS = replaced(
  GARDEN_CODE,
  START,
  `${START}        db.connection().exec_driver_sql("CREATE TABLE seen (at)")
        db.connection().exec_driver_sql("DROP TABLE seen")
        db.commit()
`,
);
const HARVEST = { planting_id: 1, kilograms: 2 };

let worlds: Worlds;

before(async () => {
  worlds = startWorlds(await testPython());
});

after(async () => {
  assert.deepEqual(await worlds.close(), [], 'processes are left');
});

async function open(pure: readonly string[], code = GARDEN_CODE): Promise<WorldSession> {
  const world = codeWorld(worlds.world({ code, pure }), worlds.environment, false);
  return await world.open({ task: TASK, seed: 7 }, AbortSignal.timeout(60_000));
}

/** Makes calls in a session of their own. Returns the answer to the last one, and the state. */
async function stateAfter(pure: readonly string[], calls: readonly (readonly [string, object?])[]): Promise<unknown> {
  const session = await open(pure);
  let last: unknown;
  for (const [name, args = {}] of calls) last = await callTool(session, name, { ...args });
  const state = await session.snapshot?.(AbortSignal.timeout(5_000));
  await session.close();
  return [last, Buffer.from(state ?? []).toString('base64')];
}

test('a call that only reads can be left out when its world is restored', async () => {
  const pure = ['list_plots', 'list_gardeners'];
  const session = await open(pure);
  assert.deepEqual(
    session.specs.filter(({ effect }) => effect === 'pure').map(({ name }) => name),
    ['list_gardeners', 'list_plots'],
  );
  await session.close();
  const all = [['list_plots'], ['record_harvest', HARVEST], ['list_gardeners'], ['record_harvest', HARVEST]] as const;
  const repeated = all.filter(([name]) => name === 'record_harvest');
  assert.deepEqual(await stateAfter(pure, all), await stateAfter(pure, repeated));
});

test('a tool that writes although it is taken for pure reports its changes, and is repeated for them', async () => {
  const pure = ['list_plots', 'record_harvest'];
  const session = await open(pure);
  const [first, second] = [
    await callTool(session, 'record_harvest', HARVEST),
    await callTool(session, 'record_harvest', HARVEST),
  ];
  assert.deepEqual([first.changes?.length, second.changes?.length], [1, 1]);
  await session.close();
  const all = [['record_harvest', HARVEST], ['list_plots'], ['record_harvest', HARVEST], ['list_plots']] as const;
  const repeated = all.filter(([name]) => name === 'record_harvest');
  const [, whole] = (await stateAfter(pure, all)) as unknown[];
  const [, restored] = (await stateAfter(pure, repeated)) as unknown[];
  assert.equal(whole, restored);
});

test('one that writes without known changes has not happened, and the world is to blame', async () => {
  const session = await open(['total_harvests'], SLY_TOTALS);
  await assert.rejects(callTool(session, 'total_harvests'), {
    ...{ class: 'world_error', blame: 'world' },
    message: /total_harvests is taken for a tool that never writes.*lint: off/,
  });
  await session.close();
  const other = await open([], SLY_TOTALS);
  assert.ok(Array.isArray((await callTool(other, 'total_harvests')).response));
  await other.close();
});

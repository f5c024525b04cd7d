/** Sessions of one scenario: none sees the rows of another one, and equal seeds give equal bytes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { z } from 'zod';
import type { WorldSession } from '../../src/rollout/ports.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { Random } from '../support/random.ts';
import { callTool, startWorlds, TASK, type Worlds } from './support/garden.ts';
import { testPython } from './support/python.ts';

const SESSIONS = 50;
const CALLS = 12;

let worlds: Worlds;

before(async () => {
  worlds = startWorlds(await testPython());
});

after(async () => {
  assert.deepEqual(await worlds.close(), [], 'processes are left');
});

function open(seed: number): Promise<WorldSession> {
  const world = codeWorld(worlds.world(), worlds.environment, true);
  return world.open({ task: TASK, seed }, AbortSignal.timeout(60_000));
}

const plantings = z.array(z.object({ id: z.number(), crop: z.string() }));

/** Makes random calls whose rows name their session. Returns the crops that the session should have. */
async function work(session: WorldSession, name: string, random: Random): Promise<string[]> {
  const expected = new Map([
    [1, 'tomatoes'],
    [2, 'basil'],
    [3, 'carrots'],
  ]);
  let last = 3;
  for (let call = 0; call < CALLS; call++) {
    const crop = `${name}-${call}`;
    const known = [...expected.keys()];
    const planting_id = known[Math.floor(random.next() * known.length)];
    const choice = random.next();
    if (choice < 0.5 || planting_id === undefined) {
      await callTool(session, 'plant_crop', { plot_id: 1 + Math.floor(random.next() * 4), crop });
      expected.set(++last, crop);
    } else if (choice < 0.75) {
      await callTool(session, 'update_planting', { planting_id, crop });
      expected.set(planting_id, crop);
    } else if (planting_id > 1) {
      await callTool(session, 'remove_planting', { planting_id });
      expected.delete(planting_id);
    } else await callTool(session, 'total_harvests');
  }
  return [...expected].sort(([a], [b]) => a - b).map(([, crop]) => crop);
}

test(`none of ${SESSIONS} sessions with random calls sees the rows of another one`, async (t) => {
  const random = new Random();
  t.diagnostic(`TEST_SEED=${random.seed}`);
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, at) => open(at)));
  await Promise.all(
    sessions.map(async (session, at) => {
      const expected = await work(session, `s${at}`, new Random(random.seed + at));
      const { response } = await callTool(session, 'list_plantings');
      assert.deepEqual(
        plantings.parse(response).map(({ crop }) => crop),
        expected,
      );
      await session.close();
    }),
  );
});

test('two runs with one seed return the same and end with the same bytes; another seed does not', async () => {
  const run = async (seed: number): Promise<unknown> => {
    const session = await open(seed);
    const answers = [
      await callTool(session, 'plant_crop', { plot_id: 3, crop: 'peas' }),
      await callTool(session, 'record_harvest', { planting_id: 1, kilograms: 1 }),
      await callTool(session, 'list_plantings'),
    ];
    const state = await session.snapshot?.(AbortSignal.timeout(5_000));
    await session.close();
    return { answers, state };
  };
  const [one, same, other] = await Promise.all([run(5), run(5), run(6)]);
  assert.deepEqual(one, same);
  assert.notDeepEqual(one, other);
});

test('without fork, each session has a process of its own', async () => {
  const code = `import threading\n\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n`;
  const { GARDEN_CODE } = await import('./support/garden.ts');
  const world = codeWorld(worlds.world({ code: code + GARDEN_CODE }), worlds.environment, true);
  const opening = { task: TASK, seed: 7 };
  const sessions = await Promise.all([0, 1].map(() => world.open(opening, AbortSignal.timeout(60_000))));
  const [one, other] = sessions;
  assert.ok(one !== undefined && other !== undefined);
  await callTool(one, 'plant_crop', { plot_id: 3, crop: 'peas' });
  assert.equal(plantings.parse((await callTool(one, 'list_plantings')).response).length, 4);
  assert.equal(plantings.parse((await callTool(other, 'list_plantings')).response).length, 3);
  const saved = await one.snapshot?.(AbortSignal.timeout(5_000));
  assert.ok(saved !== undefined);
  const again = await world.open({ ...opening, from: saved }, AbortSignal.timeout(60_000));
  assert.equal(plantings.parse((await callTool(again, 'list_plantings')).response).length, 4);
  await Promise.all([one, other, again].map((session) => session.close()));
});

/**
 * Code worlds: 50 sessions of one scenario that are opened and have answered their first call, against a process for
 * each session; a call beyond its handler; the rows that a call changed; a snapshot, and restoring it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { WorldSession } from '../../src/rollout/ports.ts';
import { codeWorld } from '../../src/worlds/code/open.ts';
import { calledTool } from '../../src/worlds/code/protocol.ts';
import { Runners } from '../../src/worlds/code/runners.ts';
import { callTool, GARDEN_CODE, gardenTemplate, startWorlds, TASK, type Worlds } from '../worlds/support/garden.ts';
import { testPython } from '../worlds/support/python.ts';
import { rounds, spread, table } from './support/table.ts';

const SESSIONS = 50;
const ALONE = 8;
const CALLS = 50;
const DATABASE_BYTES = 400_000;
/** Keeps a thread, so that it cannot be forked. */
const THREAD = 'import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n';

const never = new AbortController().signal;
const python = await testPython();
const template = gardenTemplate(DATABASE_BYTES);
const measured = { open: [], memory: [], alone: [], aloneMemory: [], read: [], write: [], bytes: [], restore: [] } as {
  [name: string]: number[];
};
const note = (name: string, value: number): void => void measured[name]?.push(value);

for (let round = 0; round < rounds(3); round++) {
  const worlds = startWorlds(python);
  try {
    await measureSessions(worlds);
    await measureAlone(worlds);
  } finally {
    await worlds.close();
  }
}
const row = (label: string, name: string, digits = 1): string[] => [label, spread(measured[name] ?? [], digits)];
console.log(
  table(
    [
      [`database of ${Math.round(template.length / 1000)} kB`, 'min / median / max'],
      row('baseline: a process per session, each with a first call, ms', 'alone', 0),
      row('baseline: private memory of such a process, MB', 'aloneMemory'),
      row(`${SESSIONS} sessions opened, first call answered (bound: 3,000), ms`, 'open', 0),
      row('private memory of a session (bound: 25), MB', 'memory'),
      row('a read beyond its handler (bound: 5), ms', 'read', 2),
      row('a write beyond its handler, with its row diff (bound: 5 + 10), ms', 'write', 2),
      row('snapshot after 15 writes (bound: 64), kB', 'bytes'),
      row('session restored from it (bound: 150), ms', 'restore'),
    ],
    [1],
  ),
);

async function measureSessions(worlds: Worlds): Promise<void> {
  const world = codeWorld(worlds.world({ template }), worlds.environment, false);
  const open = (seed: number, from?: Uint8Array): Promise<WorldSession> =>
    world.open({ task: TASK, seed, ...(from === undefined ? {} : { from }) }, never);
  const loaded = await open(0);
  const before = new Set(pythons());
  const began = performance.now();
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, async (_, at) => {
      const session = await open(at);
      await callTool(session, 'plant_crop', { plot_id: 3, crop: `crop ${at}` });
      return session;
    }),
  );
  note('open', performance.now() - began);
  const own = pythons().filter((pid) => !before.has(pid));
  note('memory', own.reduce((sum, pid) => sum + privateMb(pid), 0) / SESSIONS);
  await measureCalls(worlds);
  for (let call = 0; call < 15; call++) await callTool(loaded, 'plant_crop', { plot_id: 3, crop: 'peas' });
  const saved = await loaded.snapshot?.(never);
  note('bytes', (saved?.length ?? 0) / 1000);
  const start = performance.now();
  const restored = await open(1, saved);
  note('restore', performance.now() - start);
  await Promise.all([loaded, restored, ...sessions].map((session) => session.close()));
}

/** Calls as the session makes them, with the time that the runner reports for the handler itself. */
async function measureCalls(worlds: Worlds): Promise<void> {
  const world = worlds.world({ template });
  const scenario = world.scenarios['garden'];
  if (scenario === undefined) throw new Error('there is no scenario');
  const { runner, release } = await worlds.environment.pools
    .only(Runners)
    .acquire({ world, name: 'garden', scenario }, worlds.environment);
  const folder = path.join(runner.folder, 'sessions', 'calls');
  await runner.process.request('open', { session: 'calls', folder, seed: 1, memory_mb: 256 });
  for (const [name, tool, args] of [
    ['read', 'list_gardeners', {}],
    ['write', 'plant_crop', { plot_id: 3, crop: 'peas' }],
  ] as const) {
    const times: number[] = [];
    for (let call = 0; call < CALLS; call++) {
      const start = performance.now();
      const { ms } = calledTool.parse(await runner.process.request('call', { session: 'calls', name: tool, args }));
      times.push(performance.now() - start - ms);
    }
    note(name, times.sort((one, other) => one - other)[CALLS >> 1] ?? 0);
  }
  await runner.process.request('close', { session: 'calls' });
  await release();
}

async function measureAlone(worlds: Worlds): Promise<void> {
  const world = codeWorld(worlds.world({ template, code: THREAD + GARDEN_CODE }), worlds.environment, false);
  for (let at = 0; at < ALONE; at++) {
    const before = new Set(pythons());
    const began = performance.now();
    const session = await world.open({ task: TASK, seed: at }, never);
    await callTool(session, 'plant_crop', { plot_id: 3, crop: 'peas' });
    if (at > 0) note('alone', performance.now() - began); // the first one also finds that it cannot be forked
    const memory = pythons()
      .filter((pid) => !before.has(pid))
      .map(privateMb);
    if (at > 0) note('aloneMemory', Math.max(...memory));
    await session.close();
  }
}

/** Returns the IDs of all processes that run the runner. */
function pythons(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('world_runner.py');
      } catch {
        return false; // it has ended
      }
    })
    .map(Number);
}

function privateMb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return [...rollup.matchAll(/^Private_\w+: +(\d+) kB/gm)].reduce((sum, [, kb]) => sum + Number(kb), 0) / 1024;
}

/**
 * A recording of 100,000 events in the debugger, over the real stdio adapter: the cost of one move, with all requests
 * of an editor after it.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { DebugProtocol } from '@vscode/debugprotocol';
import { DebugDialogue } from '../support/debugDialogue.ts';
import { Random } from '../support/random.ts';
import { TestStore } from '../support/rolloutServer.ts';
import { endOf, event } from '../support/trajectories.ts';
import { importOne } from './support/importAttempts.ts';
import { longStream } from './support/longStream.ts';
import { rounds, table } from './support/table.ts';

const EVENTS = 100_000;
const MOVES = 60;
/** Variables that an editor shows at a time. */
const PAGE = 100;
const BOUND_MS = 30;

const { events } = longStream(Math.floor((EVENTS - 3) / 7));
events.push(event(events.length + 1, 'rollout.end', endOf({}, 1)));

type Move = 'next' | 'stepIn' | 'stepOut' | 'stepBack' | 'goto';
const times: Record<Move, number[]> & { read: number[]; context: number[] } = {
  next: [],
  stepIn: [],
  stepOut: [],
  stepBack: [],
  goto: [],
  read: [],
  context: [],
};
const opened: number[] = [];

/**
 * What an editor reads at a stop: every scope that is not expensive, one page of a long one. Returns those that are
 * expanded by hand.
 */
async function readScopes(client: DebugDialogue['client'], frameId: number): Promise<DebugProtocol.Scope[]> {
  const { scopes } = (await client.scopesRequest({ frameId })).body;
  for (const scope of scopes) if (!scope.expensive) await readVariables(client, scope);
  return scopes.filter(({ expensive }) => expensive);
}

async function readVariables(
  client: DebugDialogue['client'],
  { variablesReference, indexedVariables = 0 }: DebugProtocol.Scope,
): Promise<void> {
  await client.variablesRequest({
    variablesReference,
    ...(indexedVariables <= PAGE ? {} : { filter: 'indexed', start: indexedVariables - PAGE, count: PAGE }),
  });
}

await using store = new TestStore();
const server = await store.start();
const rollout = await importOne(server, events);
const folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-bench-'));
for (let round = 0; round < rounds(1); round++) {
  const dap = new DebugDialogue(folder, process.env);
  try {
    const began = performance.now();
    await dap.start('launch', { mode: 'replay', rollout, store: store.folder });
    // an editor does this at its first stop, and it indexes once
    await readScopes(dap.client, dap.frames[0]?.id ?? 0);
    opened.push(performance.now() - began);
    const random = new Random(3 + round);
    const [source] = ((await dap.client.customRequest('loadedSources')) as { body: { sources: { name: string }[] } })
      .body.sources;
    const move = async (how: Move, more: Record<string, number> = {}): Promise<void> => {
      const start = performance.now();
      await dap.go(how, more); // the stop and the call stack with it
      const read = performance.now();
      const dear = await readScopes(dap.client, dap.frames[0]?.id ?? 0);
      times[how].push(performance.now() - start);
      times.read.push(performance.now() - read);
      for (const scope of dear) {
        const opened = performance.now();
        await readVariables(dap.client, scope);
        times.context.push(performance.now() - opened);
      }
    };
    for (let place = 0; place < 6; place++) {
      // From the beginning, from the middle, from the end, and from anywhere.
      const line = Math.max(1, Math.floor((place === 0 ? 0.001 : place === 1 ? 0.999 : random.next()) * EVENTS));
      const { targets } = (await dap.client.gotoTargetsRequest({ source: { ...source }, line })).body;
      const [target] = targets;
      if (target === undefined) throw new Error(`there is nothing to go to at line ${line}`);
      await move('goto', { targetId: target.id });
      for (let at = 0; at < MOVES / 6; at++)
        for (const how of ['next', 'stepIn', 'next', 'stepIn', 'stepOut', 'stepBack', 'stepBack'] as const)
          await move(how);
    }
  } finally {
    await dap.close();
  }
}
await server.kill('SIGTERM');
rmSync(folder, { recursive: true, force: true });

const at = (values: readonly number[], share: number): string =>
  (
    [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? Number.NaN
  ).toFixed(1);
const moves: readonly Move[] = ['next', 'stepIn', 'stepOut', 'stepBack', 'goto'];
console.log(
  table(
    [
      ['move, with call stack, scopes and variables', 'moves', 'median ms', 'p95', 'longest'],
      ...moves.map((how) => [
        how,
        String(times[how].length),
        at(times[how], 0.5),
        at(times[how], 0.95),
        at(times[how], 1),
      ]),
      [
        'of that scopes and variables',
        String(times.read.length),
        at(times.read, 0.5),
        at(times.read, 0.95),
        at(times.read, 1),
      ],
      [
        'a page of the whole context, where it is opened',
        String(times.context.length),
        at(times.context, 0.5),
        at(times.context, 0.95),
        at(times.context, 1),
      ],
    ],
    [1, 2, 3, 4],
  ),
);
console.log(`${events.length} events; the session opened in ${at(opened, 0.5)} ms. Bound: a step ≤ ${BOUND_MS} ms.`);
const slow = moves.filter((how) => Number(at(times[how], 0.95)) > BOUND_MS);
if (slow.length > 0) {
  console.log(`✗ over the bound at p95: ${slow.join(', ')}`);
  process.exitCode = 1;
}

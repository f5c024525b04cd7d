/** “n steps forward and n back end at the same place”: a random walk of the debugger's cursor and back, by stops. */
import assert from 'node:assert/strict';
import { RolloutCursor, type Step } from '../../src/debug/cursor.ts';
import type { Breakpoint } from '../../src/protocol/commands.ts';
import type { TrajectoryModel } from '../../src/trace/model.ts';
import { type Place, Stops } from '../../src/trace/stops.ts';
import { Random } from './random.ts';
import { task } from './trajectories.ts';

const STEPS: readonly Step[] = ['next', 'next', 'into', 'into', 'into', 'out'];
/** Breakpoints at which a run through the record sometimes stops. */
const BREAKPOINTS: readonly Breakpoint[] = [
  { id: 'tools', side: 'before', kind: 'tool' },
  { id: 'errors', side: 'after', when: 'has(tool.error)' },
];

/** Walks `moves` moves from a random stop and back to it. Returns how often it moved. `name` labels failures. */
export async function walkAndReturn(
  model: TrajectoryModel,
  seed: number,
  moves: number,
  name: string,
): Promise<number> {
  const random = new Random(seed);
  const stops = Stops.of(model);
  const { first } = stops;
  if (first === undefined) return 0; // a step without text
  const any = (): Place => stops.placeOf(1 + Math.floor(random.next() * model.last)) ?? first;
  const cursor = new RolloutCursor(model, task('t'), any());
  /** Places left behind, oldest first. */
  const left: Place[] = [];
  const where = `${name}, seed ${seed}`;
  for (let move = 0; move < moves; move++) {
    const before = cursor.place;
    const dice = random.next();
    if (dice < 0.85) cursor.step(STEPS[Math.floor(random.next() * STEPS.length)] ?? 'next');
    else if (dice < 0.95) cursor.goto(any());
    else
      await cursor.run(
        random.next() < 0.5 ? 'forward' : 'backward',
        BREAKPOINTS,
        new Set(),
        () => undefined,
        new AbortController().signal,
      );
    if (cursor.place.seq !== before.seq || cursor.place.at !== before.at) left.push(before);
  }
  const moved = left.length;
  for (let before = left.pop(); before !== undefined; before = left.pop()) {
    assert.ok(cursor.back(), where);
    assert.deepEqual(cursor.place, before, `${where}: ${left.length} moves before it`);
  }
  return moved;
}

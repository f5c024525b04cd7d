/** Walks a submitted world and those that it contains. */
import type { SubmittedWorld } from './world.ts';

/** Returns a world and all that it contains, each before those in it. None for a batch without a world. */
export function worldsIn(world: SubmittedWorld | undefined): SubmittedWorld[] {
  return world === undefined ? [] : [world, ...Object.values(world.worlds ?? {}).flatMap(worldsIn)];
}

/** Returns a world in which it and all that it contains are replaced, each after those in it. */
export function mapWorlds(world: SubmittedWorld, change: (world: SubmittedWorld) => SubmittedWorld): SubmittedWorld {
  const { worlds } = world;
  if (worlds === undefined) return change(world);
  const changed = Object.entries(worlds).map(([key, nested]) => [key, mapWorlds(nested, change)] as const);
  return change({ ...world, worlds: Object.fromEntries(changed) });
}

/**
 * Worlds that a world file names: `real: { world: FILE }`. To add a key, add it to `NESTED_WORLDS` and to the schema of
 * its kind, and return its path in `namedWorlds` (`config/load/world.ts`): loading, checks, submission, environment
 * variables, models, programs, and the editor then see that world, and a session finds it in `SubmittedWorld.worlds`.
 */
import { path } from './values.ts';

/** Keys of a world file below which `world` names another one. */
export const NESTED_WORLDS = ['real', 'otherwise', 'shadow', 'lookahead'] as const;
export type NestedWorldKey = (typeof NESTED_WORLDS)[number];

/** Of these, the keys of worlds that answer calls of the agent: it gets their tools. */
export const ANSWERING_WORLDS = ['real', 'otherwise'] as const satisfies readonly NestedWorldKey[];

/** The path of another world file. */
export const worldPath = path('library.world.yaml');

/** Keys of a world file with `kind: recorded`. */
import { z } from 'zod';
import { worldPath } from './nestedWorld.ts';
import { choice, expects } from './values.ts';

export const WORLD_MATCHES = ['sequence', 'arguments', 'order'] as const;
export type WorldMatch = (typeof WORLD_MATCHES)[number];

export const recordedWorldKeys = {
  match: choice(WORLD_MATCHES)
    .default('sequence')
    .describe(
      'With `kind: recorded`: which recorded call answers. `sequence`: one that an attempt made after the same ' +
        'calls. `arguments`: the n-th call with the same arguments. `order`: the next call of that tool.',
    ),
  otherwise: z
    .union(
      [z.literal('error'), z.strictObject({ world: worldPath.describe('The world file.') })],
      expects('`error`, or a `world`', 'error'),
    )
    .default('error')
    .describe(
      'With `kind: recorded`: what answers a call that no attempt has. `error`: the agent sees an error. ' +
        '`{ world: FILE }`: a simulated world, which knows all calls so far.',
    ),
} as const;

const FROM = expects(
  'the path of a folder or file, or a list of batches, tasks, attempts, rollouts, and files',
  'awm-1k',
);
const source = z.string(FROM).min(1, FROM);

/** `from` of a code world, or of a recorded one. */
export const worldFrom = z.union([source, z.array(source, FROM)], FROM);

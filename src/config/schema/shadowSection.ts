/** Schemas of `shadow` and `lookahead`: worlds that predict tool calls before they are made. */
import { z } from 'zod';
import { modelSection } from './modelSection.ts';
import { worldPath } from './nestedWorld.ts';
import { expects, group, text } from './values.ts';

export const shadowSection = group(
  {
    world: worldPath.describe(
      'The world file, of `kind: simulated` or `recorded`. Its own `perturb`, `user`, and `shadow` do not apply.',
    ),
    when: text('\'tool.effect != "pure"\'', 'a CEL expression')
      .optional()
      .describe(
        'A CEL expression over `tool`, `step`, `agent`, `task`, and `attempt`, as in `perturb`: the calls that are ' +
          'predicted. Default: all calls of tools that the world has.',
      ),
    judge: z
      .union([text('judge', 'the name of a model'), modelSection], expects('the name of a model, or a model', 'judge'))
      .optional()
      .describe(
        'A model that gives each prediction five marks, next to the real response: the name of one in `models`, or a ' +
          'model. Without one, only the structure is compared.',
      ),
  },
  'a group of keys with `world`',
  '{ world: library-sim.world.yaml }',
);
export type ShadowSection = z.output<typeof shadowSection>;

export const lookaheadSection = group(
  {
    world: worldPath.describe(
      'The world file, of `kind: simulated` or `recorded`. Its own `perturb`, `user`, `shadow`, and `lookahead` do ' +
        'not apply.',
    ),
  },
  'a group of keys with `world`',
  '{ world: library-sim.world.yaml }',
);

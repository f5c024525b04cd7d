/** Opens worlds for rollouts, repeated calls, and tool trials. */
import { StudioError } from '../common/errors.ts';
import type { SubmittedWorld } from '../config/submission.ts';
import type { World } from '../rollout/ports.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { moduleWorld } from './module.ts';

/** Returns the submitted world, whose sessions run in the environment of their rollout. `judges`: it is the scorer. */
export function openWorld(submitted: SubmittedWorld, environment: ToolEnvironment, judges = false): World {
  switch (submitted.kind) {
    case 'module':
      return moduleWorld(submitted, environment, judges);
    case 'code':
      throw new StudioError('unsupported', `Worlds of kind code cannot run yet: ${submitted.name}.`, {
        hint: 'Use a world of kind module.',
      });
  }
}

/** The one way to a world: a worker's rollouts, re-runs, and tries all open their sessions here. */
import type { SubmittedWorld } from '../config/submission.ts';
import type { World } from '../rollout/ports.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { moduleWorld } from './module.ts';

/** The submitted world, whose sessions run in the environment of the rollout they are opened for. */
export function openWorld(submitted: SubmittedWorld, environment: ToolEnvironment): World {
  return moduleWorld(submitted, environment); // the only kind of world so far
}

import type { Scorer } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';

/**
 * The world judges its own final state. It is also asked when there is no answer: what a rollout that ran into a limit
 * has done to the world may still be right. Throws ClassedError `world_error` when there is no world, or none with a
 * verifier.
 */
export const worldScorer: Scorer = {
  name: 'world',
  async score({ task, answer, world, signal }) {
    if (world === undefined)
      throw new ClassedError('world_error', 'The scorer is `world`, but the batch has no world.');
    if (world.verify === undefined)
      throw new ClassedError('world_error', 'The scorer is `world`, but this world has no `verify`.');
    return world.verify({ answer, expected: task.answer }, signal);
  },
};

import type { Scorer } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';

/**
 * The world judges its own final state. It is also called without an answer, because a rollout that reached a limit may
 * still have left the right state. Throws ClassedError `world_error` if there is no world, or no verifier.
 */
export const worldScorer: Scorer = {
  name: 'world',
  needsWorld: true,
  async score({ task, answer, messages, troubles, world, signal, ask }) {
    if (world === undefined)
      throw new ClassedError('world_error', 'The scorer is `world`, but the batch has no world.');
    if (world.verify === undefined)
      throw new ClassedError('world_error', 'The scorer is `world`, but this world has no `verify`.');
    return world.verify({ answer, expected: task.answer, messages, troubles }, { signal, ask });
  },
};

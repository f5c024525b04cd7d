/** One attempt at a task for a debugger: held before its first call. */
import { StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Api } from '../protocol/api.ts';
import { DEBUGGER, ENTRY } from '../protocol/entry.ts';
import { type Launch, launch } from './launch.ts';

/** Attempts that can be held at once, so that only one of them goes on: a worker holds no more for breakpoints. */
export const MAX_HELD = 8;

/**
 * Launches what has `attempt` attempts at one task, and of these runs the last: with the seed, and so the world and the
 * sampling, that this attempt has in any batch. Those before it are cancelled before their first call. Gives the batch.
 */
export async function launchHeld(
  api: Api,
  what: Launch,
  attempt: number,
  by: string,
  signal: AbortSignal,
): Promise<string> {
  if (attempt > MAX_HELD)
    throw new StudioError(
      'usage',
      `Attempt ${attempt} cannot be debugged alone: at most ${MAX_HELD} are held at once.`,
    );
  if (attempt === 1) return launch(api, { ...what, debug: true, breakpoints: [ENTRY] }, { signal });
  const wanted = `attempt == ${attempt}`;
  const batch = await launch(
    api,
    {
      ...what,
      debug: true,
      breakpoints: [
        { ...ENTRY, when: `(${ENTRY.when ?? ''}) && ${wanted}` },
        { id: `${DEBUGGER}others`, side: 'before', when: `!(${wanted})` },
      ],
    },
    { signal },
  );
  const { rollouts } = await api.rollouts(batch, { limit: attempt }, signal);
  const others = rollouts.filter((row) => row.attempt !== attempt);
  await Promise.all(
    others.map(({ rollout }) =>
      api.commandRollout(
        rollout,
        { command: newId('c'), verb: 'cancel', by, args: { reason: `Only attempt ${attempt} is debugged.` } },
        signal,
      ),
    ),
  );
  return batch;
}

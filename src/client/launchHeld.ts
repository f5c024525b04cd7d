/** Launches one attempt of a task for a debugger, held before its first call. */
import { StudioError } from '../common/errors.ts';
import { newId } from '../common/ids.ts';
import type { Api } from '../protocol/api.ts';
import { DEBUGGER, ENTRY } from '../protocol/entry.ts';
import { type Launch, launch } from './launch.ts';

/** Maximum attempts to hold so that only one continues: a worker holds no more than this at breakpoints. */
export const MAX_HELD = 8;

/**
 * Launches a batch with `attempt` attempts of one task and runs only the last, so that it has the same seed (and thus
 * world and sampling) as in any batch. The others are cancelled before their first call. Returns the batch’s ID.
 */
export async function launchHeld(
  api: Api,
  request: Launch,
  attempt: number,
  by: string,
  signal: AbortSignal,
): Promise<string> {
  if (attempt > MAX_HELD)
    throw new StudioError('usage', `Attempt ${attempt} cannot be debugged alone. Choose an attempt up to ${MAX_HELD}.`);
  if (attempt === 1) return launch(api, { ...request, debug: true, breakpoints: [{ ...ENTRY, by }] }, { signal });
  const isTarget = `attempt == ${attempt}`;
  const batch = await launch(
    api,
    {
      ...request,
      debug: true,
      breakpoints: [
        { ...ENTRY, by, when: `(${ENTRY.when ?? ''}) && ${isTarget}` },
        { id: `${DEBUGGER}others`, by, side: 'before', when: `!(${isTarget})` },
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
        { command: newId('c'), verb: 'cancel', by, args: { reason: `Only attempt ${attempt} is being debugged.` } },
        signal,
      ),
    ),
  );
  return batch;
}

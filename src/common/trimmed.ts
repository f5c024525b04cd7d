/** Batches whose trajectories were dropped to save space. Their results stay. */
import { StudioError } from './errors.ts';

/** Why the trajectories of a batch were dropped. Neither: somebody with a client token asked for it. */
export interface TrimReason {
  /** The retention rule of the server, as it is listed. */
  readonly rule?: string | undefined;
  /** The user who asked for it. */
  readonly by?: string | undefined;
}

export interface Trimmed extends TrimReason {
  readonly at: number;
}

/** Returns what happened to the trajectories of a batch, as a sentence: `Trajectories were trimmed on Nov 2 by ada.` */
export function trimmedText({ at, ...reason }: Trimmed, now = Date.now()): string {
  const date = new Date(at);
  const year = date.getFullYear() === new Date(now).getFullYear() ? {} : { year: 'numeric' as const };
  const day = date.toLocaleDateString('en-US', { month: 'short', day: 'numeric', ...year });
  return `Trajectories were trimmed on ${day}${causeOf(reason)}.`;
}

/** What does not work without a trajectory says this. */
export const TRIMMED_HINT = 'The results stay: outcome, reward, cause, times, and token counts.';

/** The error of whatever needs the events of an attempt whose batch was trimmed. */
export function trimmedError(batch: string, { at, ...reason }: Trimmed): StudioError {
  return new StudioError(
    'gone',
    `The trajectories of batch ${batch} were trimmed on ${new Date(at).toISOString().slice(0, 10)}${causeOf(reason)}.`,
    { hint: TRIMMED_HINT, details: { trimmed: at } },
  );
}

function causeOf({ rule, by }: TrimReason): string {
  if (rule !== undefined) return ` by the retention rules (${rule})`;
  return by === undefined ? '' : ` by ${by}`;
}

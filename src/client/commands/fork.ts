/** Forks of a rollout from a point of it, as people name that point. */
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { ForkEdit } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import { parseReference, resolveRollout, type Point } from '../reference.ts';

export interface ForkOptions {
  /** Continuations (1). */
  readonly attempts?: number | undefined;
  readonly edit?: readonly ForkEdit[] | undefined;
  /** Go on although irreversible calls may be made again. */
  readonly acceptIrreversible?: boolean;
  /** Who asks; told in the record. */
  readonly by: string;
}

export interface Forked {
  readonly batch: string;
  readonly rollout: string;
  /** The last shared seq. */
  readonly seq: number;
}

/** Starts a fork of `ROLLOUT:STEP` (before that step's model call) or `ROLLOUT@SEQ` (after that event); also of an attempt. */
export async function forkAt(api: Api, text: string, options: ForkOptions, signal: AbortSignal): Promise<Forked> {
  const reference = forkPoint(text);
  const rollout = await resolveRollout(api, reference, signal);
  const seq = await cutOf(api, rollout, reference.point, signal);
  const { batch } = await api.fork({
    batch: newId('b'), rollout, seq, attempts: options.attempts ?? 1, by: options.by,
    ...(options.edit === undefined ? {} : { edit: [...options.edit] }),
    ...(options.acceptIrreversible === true ? { accept_irreversible: true } : {}),
  }, signal);
  return { batch, rollout, seq };
}

/** Reads the point of a fork; throws `usage` when the text names none. */
export function forkPoint(text: string): Exclude<ReturnType<typeof parseReference>, { kind: 'batch' }> {
  const reference = parseReference(text);
  if (reference.kind === 'batch' || (reference.point.step === undefined && reference.point.seq === undefined)) {
    throw new StudioError('usage', 'A fork needs the point to go on from.', { mend: 'Give ROLLOUT:STEP (before that step’s model call) or ROLLOUT@SEQ (after that event).' });
  }
  return reference;
}

/** The last shared seq: of `:STEP`, what came before that step's model call. */
async function cutOf(api: Api, rollout: string, point: Point, signal: AbortSignal): Promise<number> {
  if (point.seq !== undefined) return point.seq;
  let steps = 0;
  for await (const page of api.allEvents(rollout, signal)) {
    for (const event of page) {
      if (event.kind !== 'model.start') continue;
      steps = event.data.step;
      if (steps === point.step) return event.seq - 1;
    }
  }
  throw new StudioError('not_found', `Rollout ${rollout} has no step ${point.step ?? 0}; it has ${steps}.`);
}

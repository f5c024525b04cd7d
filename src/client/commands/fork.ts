/** Plans and launches forks of a rollout from a point that users reference. */
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { ForkEdit } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { ForkReply } from '../../protocol/client.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import { startOfStep } from '../../protocol/findStep.ts';
import { putSubmission } from '../launch.ts';
import { type Point, parseReference, resolveRollout } from '../reference.ts';
import { type ForkPlace, type ForkSubmission, type ForkWith, forkSubmission } from './forkSubmission.ts';

/** A fork that is ready to be launched. */
interface PlannedFork {
  readonly rollout: string;
  /** The last shared seq. */
  readonly seq: number;
  readonly runs: ForkSubmission;
}

interface ForkOptions {
  /** Number of continuations; defaults to 1. */
  readonly attempts?: number | undefined;
  readonly edit?: readonly ForkEdit[] | undefined;
  /** Continue even if irreversible calls may be repeated. */
  readonly acceptIrreversible?: boolean;
  /** Breakpoints to set before the fork starts. */
  readonly breakpoints?: readonly Breakpoint[] | undefined;
  /** Whether edited rollouts still count as results of their attempts. */
  readonly debug?: boolean;
  /** Who launches the fork; recorded with it. */
  readonly by: string;
}

/**
 * Plans a fork of `ROLLOUT:STEP` (before that step's model call) or `ROLLOUT@SEQ` (after that event), without
 * launching it. Attempt references work too.
 */
export async function planFork(
  api: Api,
  text: string,
  changes: ForkWith,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<PlannedFork> {
  const reference = forkPoint(text);
  const rollout = await resolveRollout(api, reference, signal);
  return planForkAt(api, rollout, await cutOf(api, rollout, reference.point, signal), changes, place, signal);
}

/** Plans a fork of a rollout after the event `seq`. */
export async function planForkAt(
  api: Api,
  rollout: string,
  seq: number,
  changes: ForkWith,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<PlannedFork> {
  const { row, submission, task } = await api.rollout(rollout, signal);
  const { imported } = await api.batch(row.batch, signal);
  return {
    rollout,
    seq,
    runs: await forkSubmission(api, { submission: imported ? undefined : submission, task }, changes, place, signal),
  };
}

/**
 * Launches a planned fork and returns the ID of its batch, with warnings. Secret values that the server no longer has
 * are taken from `env`.
 */
export async function launchFork(
  api: Api,
  { rollout, seq, runs }: PlannedFork,
  options: ForkOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<ForkReply> {
  if (runs.sha !== undefined) await putSubmission(api, runs, signal);
  const id = newId('b');
  const send = (secrets: Readonly<Record<string, string>>): Promise<ForkReply> =>
    api.fork(
      {
        batch: id,
        rollout,
        seq,
        attempts: options.attempts ?? 1,
        by: options.by,
        ...(runs.sha === undefined ? {} : { submission: runs.sha }),
        ...(Object.keys(secrets).length === 0 ? {} : { secrets: { ...secrets } }),
        ...(options.edit === undefined || options.edit.length === 0 ? {} : { edit: [...options.edit] }),
        ...(options.breakpoints === undefined || options.breakpoints.length === 0
          ? {}
          : { breakpoints: [...options.breakpoints] }),
        ...(options.acceptIrreversible === true ? { accept_irreversible: true } : {}),
        ...(options.debug === true ? { debug: true } : {}),
      },
      signal,
    );
  try {
    return await send(runs.secrets);
  } catch (error) {
    const values = missingValues(error, env);
    if (values === undefined) throw error;
    return send({ ...runs.secrets, ...values });
  }
}

/** Returns the values of the variables whose absence caused the error, or undefined if `env` lacks any of them. */
function missingValues(error: unknown, env: NodeJS.ProcessEnv): Record<string, string> | undefined {
  const missing = StudioError.is(error, 'config') ? error.details?.['missing'] : undefined;
  if (!Array.isArray(missing)) return undefined;
  const values = Object.fromEntries(
    missing.flatMap((name: unknown) =>
      typeof name === 'string' && env[name] !== undefined && env[name] !== '' ? [[name, env[name]]] : [],
    ),
  );
  return Object.keys(values).length === missing.length ? values : undefined;
}

/** Parses the point of a fork. Throws StudioError `usage` if the text references none. */
export function forkPoint(text: string): Exclude<ReturnType<typeof parseReference>, { kind: 'batch' }> {
  const reference = parseReference(text);
  if (reference.kind === 'batch' || (reference.point.step === undefined && reference.point.seq === undefined)) {
    throw new StudioError('usage', 'A fork requires a point to continue from.', {
      hint: 'Use ROLLOUT:STEP (before that step’s model call) or ROLLOUT@SEQ (after that event).',
    });
  }
  return reference;
}

/** Returns the last shared seq. For `:STEP` it is the event before that step’s model call. */
async function cutOf(api: Api, rollout: string, point: Point, signal: AbortSignal): Promise<number> {
  if (point.seq !== undefined) return point.seq;
  const { step = 0 } = point;
  const { row } = await api.rollout(rollout, signal);
  // A fork that has no step of its own yet has at least those that it shares.
  const steps = Math.max(row.progress.step ?? 0, step);
  const start = await startOfStep(api, rollout, step, { last: row.last, steps }, signal);
  if (start !== undefined) return start - 1;
  const count = row.progress.step === undefined ? '' : `; it has ${row.progress.step}`;
  throw new StudioError('not_found', `Rollout ${rollout} has no step ${step}${count}.`);
}

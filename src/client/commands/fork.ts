/** Forks of a rollout from a point of it, as people name that point. */
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import type { ForkEdit } from '../../config/submission.ts';
import type { Api } from '../../protocol/api.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import { putSubmission } from '../launch.ts';
import { type Point, parseReference, resolveRollout } from '../reference.ts';
import { type ForkPlace, type ForkSubmission, type ForkWith, forkSubmission } from './forkSubmission.ts';

/** A fork that is ready to be launched. */
export interface PlannedFork {
  readonly rollout: string;
  /** The last shared seq. */
  readonly seq: number;
  readonly runs: ForkSubmission;
}

export interface ForkOptions {
  /** Continuations (1). */
  readonly attempts?: number | undefined;
  readonly edit?: readonly ForkEdit[] | undefined;
  /** Go on although irreversible calls may be made again. */
  readonly acceptIrreversible?: boolean;
  /** Set before anything runs. */
  readonly breakpoints?: readonly Breakpoint[] | undefined;
  /** Touched rollouts settle their attempts. */
  readonly debug?: boolean;
  /** Who asks; told in the record. */
  readonly by: string;
}

/**
 * Plans a fork of `ROLLOUT:STEP` (before that step's model call) or `ROLLOUT@SEQ` (after that event); also of an
 * attempt. Launches nothing.
 */
export async function planFork(
  api: Api,
  text: string,
  what: ForkWith,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<PlannedFork> {
  const reference = forkPoint(text);
  const rollout = await resolveRollout(api, reference, signal);
  return planForkAt(api, rollout, await cutOf(api, rollout, reference.point, signal), what, place, signal);
}

/** The same, where the rollout and its last shared event are known. */
export async function planForkAt(
  api: Api,
  rollout: string,
  seq: number,
  what: ForkWith,
  place: ForkPlace,
  signal: AbortSignal,
): Promise<PlannedFork> {
  const { row, submission, task } = await api.rollout(rollout, signal);
  const { imported } = await api.batch(row.batch, signal);
  return {
    rollout,
    seq,
    runs: await forkSubmission(api, { submission: imported ? undefined : submission, task }, what, place, signal),
  };
}

/**
 * Launches a planned fork. Gives its batch. Values its submission needs, and the server has no more, are taken from
 * `env`.
 */
export async function launchFork(
  api: Api,
  { rollout, seq, runs }: PlannedFork,
  options: ForkOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string> {
  if (runs.sha !== undefined) await putSubmission(api, runs, signal);
  const id = newId('b');
  const ask = async (secrets: Readonly<Record<string, string>>): Promise<string> => {
    const { batch } = await api.fork(
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
    return batch;
  };
  try {
    return await ask(runs.secrets);
  } catch (error) {
    const found = valuesFor(error, env);
    if (found === undefined) throw error;
    return ask({ ...runs.secrets, ...found });
  }
}

/** Values of the variables whose absence is the error; undefined: they are not known here either. */
function valuesFor(error: unknown, env: NodeJS.ProcessEnv): Record<string, string> | undefined {
  const missing = StudioError.is(error, 'config') ? error.details?.['missing'] : undefined;
  if (!Array.isArray(missing)) return undefined;
  const values = Object.fromEntries(
    missing.flatMap((name: unknown) =>
      typeof name === 'string' && env[name] !== undefined && env[name] !== '' ? [[name, env[name]]] : [],
    ),
  );
  return Object.keys(values).length === missing.length ? values : undefined;
}

/** Reads the point of a fork; throws `usage` when the text names none. */
export function forkPoint(text: string): Exclude<ReturnType<typeof parseReference>, { kind: 'batch' }> {
  const reference = parseReference(text);
  if (reference.kind === 'batch' || (reference.point.step === undefined && reference.point.seq === undefined)) {
    throw new StudioError('usage', 'A fork needs the point to go on from.', {
      hint: 'Give ROLLOUT:STEP (before that step’s model call) or ROLLOUT@SEQ (after that event).',
    });
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

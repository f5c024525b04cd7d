/**
 * Runs verifiers on the stored final states of rollouts: that of a module with its current file, those of a code world
 * as recorded or as edited. Nothing is recorded.
 */

import type { EditedVerifiers, VerifierMode } from '../client/published/editedVerifiers.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { isSameJson } from '../common/json.ts';
import type { Bundle } from '../config/submit/blobs.ts';
import type { Api } from '../protocol/api.ts';
import type { Verdict } from '../rollout/ports.ts';
import type { Ratings } from '../trace/agreement/pairs.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { Check, EventData, Place } from '../trace/schema.ts';
import { personOf } from '../trace/verdicts.ts';
import { finalVerdict } from './finalVerdict.ts';
import { readRecording } from './recordedCall.ts';
import { withTemporaryEnvironment } from './temporaryEnvironment.ts';

export interface VerifyOptions {
  /** The bundled module whose verifier runs. By default, the current file of the world's module. */
  readonly module?: Bundle | undefined;
  /** Verifiers that replace those of a code world. Rollouts of other tasks are left out. */
  readonly edited?: EditedVerifiers | undefined;
  /** Folder to search for files that have moved. */
  readonly folder: string;
}

/** One check of both verdicts; absent in one that does not have it. */
interface CheckChange {
  readonly name: string;
  readonly stored?: boolean;
  readonly now?: boolean;
  /** Index in the stored verdict. */
  readonly index?: number;
}

export interface Verified {
  readonly batch: string;
  readonly rollout: string;
  readonly task: string;
  readonly attempt: number;
  /** The verdict at the end of the rollout; null: it has none. */
  readonly stored: Pick<Verdict, 'value' | 'passed' | 'outcome'> | null;
  /** seq of that verdict. */
  readonly score?: number;
  /** The verdict now; null: there is none, see `error`. */
  readonly now: Verdict | null;
  /** Why the verifier did not judge. */
  readonly error?: string;
  /** Where in the verifier's file; `file` is absolute. */
  readonly place?: Place;
  /** Whether the verdicts contradict each other. */
  readonly flips: boolean;
  /** Checks with different results. */
  readonly checks: readonly CheckChange[];
  /** What the verifier now, a judge, other scorers, and people say. */
  readonly ratings: Ratings;
}

/** Names of raters. */
const CODE = 'code';
const JUDGE = 'judge';

/**
 * Runs the verifiers, one rollout after another, in one process. Their failures are results. Throws StudioError for a
 * rollout without a world or without an end.
 */
export async function verifyRollouts(
  api: Api,
  rollouts: Iterable<string>,
  options: VerifyOptions,
  report: (verified: Verified) => void,
  signal: AbortSignal,
): Promise<void> {
  await withTemporaryEnvironment(
    (sha, blobSignal) => api.getBlob(sha, blobSignal),
    async (environment, work) => {
      for (const rollout of rollouts) {
        const verified = await verifyOne(api, rollout, options, (sandbox) => environment(work, { sandbox }), signal);
        if (verified !== undefined) report(verified);
      }
    },
  );
}

/** Returns undefined for a rollout that the edited verifiers do not judge. */
async function verifyOne(
  api: Api,
  rollout: string,
  options: VerifyOptions,
  environment: Parameters<typeof finalVerdict>[2],
  signal: AbortSignal,
): Promise<Verified | undefined> {
  const recording = await readRecording(api, rollout, signal);
  const { info, model, sent } = recording;
  const { edited } = options;
  const { row, task } = info;
  if (edited !== undefined && !edited.judges(task)) return undefined;
  if (sent.world === undefined)
    throw new StudioError('usage', `Rollout ${rollout} has no world.`, { hint: 'Use rollout rescore with a scorer.' });
  if (model.end === undefined)
    throw new StudioError('conflict', `Rollout ${rollout} has not ended, so it has no final state.`);
  const scored = model.scores.findLast(({ span }) => span === undefined);
  const score = scored?.data;
  const stored = score === undefined ? null : storedVerdict(score);
  const about = {
    ...{ batch: row.batch, rollout, task: row.task, attempt: row.attempt, stored },
    ...(scored === undefined ? {} : { score: scored.seq }),
  };
  const verdicts = row.progress.verdicts ?? {};
  try {
    const { verdict: now, fault } = await finalVerdict(api, recording, environment, options, signal);
    const flips = stored !== null && stored.passed !== null && now.passed !== null && stored.passed !== now.passed;
    const ratings = ratingsOf(score, now, edited?.only?.mode, verdicts);
    const failure = fault === undefined ? {} : faultOf(fault, task, edited);
    return { ...about, now, ...failure, flips, checks: changedChecks(score, now), ratings };
  } catch (error) {
    if (signal.aborted || !(error instanceof ClassedError || StudioError.is(error, 'conflict'))) throw error;
    const ratings = ratingsOf(score, undefined, edited?.only?.mode, verdicts);
    return { ...about, now: null, error: errorText(error), flips: false, checks: [], ratings };
  }
}

function faultOf(
  { mode, fault }: NonNullable<Awaited<ReturnType<typeof finalVerdict>>['fault']>,
  task: Parameters<EditedVerifiers['place']>[0],
  edited: EditedVerifiers | undefined,
): Pick<Verified, 'error' | 'place'> {
  const place = edited?.place(task, mode, fault.line);
  return {
    error: fault.message,
    ...(place === undefined ? {} : { place: { column: 1, ...place, ...columnOf(fault) } }),
  };
}

function columnOf({ column }: { readonly column?: number | undefined }): { readonly column?: number } {
  return column === undefined ? {} : { column };
}

function storedVerdict({ value, passed, outcome }: EventData['score']): NonNullable<Verified['stored']> {
  return { value, passed, ...(outcome === undefined ? {} : { outcome }) };
}

/** Returns what each rater says. A verdict on evidence is the judge's. */
function ratingsOf(
  score: EventData['score'] | undefined,
  now: Verdict | undefined,
  mode: VerifierMode | undefined,
  verdicts: Readonly<Record<string, Pick<Verdict, 'passed'>>>,
): Ratings {
  const judged = judgeIn(now) ?? judgeIn(score);
  const own = mode === 'sql' ? undefined : now?.passed;
  const raters: [string, boolean | null | undefined][] = [
    [CODE, own],
    [JUDGE, judged?.passed],
    ...Object.entries(verdicts).map(([scorer, { passed }]): [string, boolean | null] => {
      const person = personOf(scorer);
      return [person === undefined ? scorer : `label of ${person}`, passed];
    }),
  ];
  return Object.fromEntries(
    raters.flatMap(([rater, passed]) => (typeof passed === 'boolean' ? [[rater, passed] as const] : [])),
  );
}

function judgeIn(verdict: { readonly checks?: Verdict['checks'] | undefined } | undefined): Check | undefined {
  return verdict?.checks?.find(({ name }) => name === JUDGE);
}

function changedChecks(score: EventData['score'] | undefined, now: Verdict): CheckChange[] {
  const byName = (checks: readonly Check[] | undefined): Map<string, boolean> =>
    new Map(checks?.map(({ name, passed }) => [name, passed]));
  const [before, after] = [byName(score?.checks), byName(now.checks)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [stored, current] = [before.get(name), after.get(name)];
    if (isSameJson(stored ?? null, current ?? null)) return [];
    const index = score?.checks?.findIndex((check) => check.name === name) ?? -1;
    return [
      {
        name,
        ...(stored === undefined ? {} : { stored }),
        ...(current === undefined ? {} : { now: current }),
        ...(index === -1 ? {} : { index }),
      },
    ];
  });
}

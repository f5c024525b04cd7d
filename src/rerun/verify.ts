/**
 * Runs the verifier of a world on the stored final state of a rollout: its newest snapshot, and the calls since then
 * made again. Nothing is recorded.
 */
import { moduleNow } from '../client/moduleNow.ts';
import { errorText, StudioError } from '../common/errors.ts';
import { isSameJson, type Json } from '../common/json.ts';
import { modulesOf, type SubmittedWorld } from '../config/submission.ts';
import type { Bundle } from '../config/submit/blobs.ts';
import type { Api } from '../protocol/api.ts';
import type { Verdict, WorldSession } from '../rollout/ports.ts';
import { ClassedError } from '../trace/classedError.ts';
import type { Check, EventData } from '../trace/schema.ts';
import { openWorld } from '../worlds/open.ts';
import { type Recording, readRecording, worldBefore } from './recordedCall.ts';
import { replayCalls } from './rerun.ts';
import { withTemporaryEnvironment } from './temporaryEnvironment.ts';

interface VerifyOptions {
  /** The bundled module whose verifier runs. By default, the current file of the world's module. */
  readonly module?: Bundle | undefined;
  /** Folder to search for files that have moved. */
  readonly folder: string;
}

/** One check of both verdicts; absent in one that does not have it. */
interface CheckChange {
  readonly name: string;
  readonly stored?: boolean;
  readonly now?: boolean;
}

export interface Verified {
  readonly rollout: string;
  readonly task: string;
  readonly attempt: number;
  /** The verdict at the end of the rollout; null: it has none. */
  readonly stored: Pick<Verdict, 'value' | 'passed'> | null;
  /** The verdict now; null: there is none, see `error`. */
  readonly now: Verdict | null;
  readonly error?: string;
  /** Whether the verdicts contradict each other. */
  readonly flips: boolean;
  /** Checks with different results. */
  readonly checks: readonly CheckChange[];
}

/** Runs the verifier. Its failures are results. Throws StudioError for a rollout without a world or without an end. */
export async function verifyRollout(
  api: Api,
  rollout: string,
  options: VerifyOptions,
  signal: AbortSignal,
): Promise<Verified> {
  const recording = await readRecording(api, rollout, signal);
  const { info, model, sent } = recording;
  if (sent.world === undefined)
    throw new StudioError('usage', `Rollout ${rollout} has no world.`, { hint: 'Use rollout rescore with a scorer.' });
  if (model.end === undefined)
    throw new StudioError('conflict', `Rollout ${rollout} has not ended, so it has no final state.`);
  const score = model.scores.findLast(({ span }) => span === undefined)?.data;
  const stored = score === undefined ? null : { value: score.value, passed: score.passed };
  const { row } = info;
  const about = { rollout, task: row.task, attempt: row.attempt, stored };
  try {
    const now = await verdictOn(api, recording, sent.world, options, signal);
    const flips = stored?.passed !== null && now.passed !== null && stored?.passed !== now.passed;
    return { ...about, now, flips: stored !== null && flips, checks: changedChecks(score, now) };
  } catch (error) {
    if (signal.aborted || !(error instanceof ClassedError || StudioError.is(error, 'conflict'))) throw error;
    return { ...about, now: null, error: errorText(error), flips: false, checks: [] };
  }
}

function verdictOn(
  api: Api,
  recording: Recording,
  world: SubmittedWorld,
  { module, folder }: VerifyOptions,
  signal: AbortSignal,
): Promise<Verdict> {
  const { info, model, sent, whole } = recording;
  return withTemporaryEnvironment(
    (sha, blobSignal) => api.getBlob(sha, blobSignal),
    async (environment, work) => {
      const own = environment(work, { sandbox: sent.sandbox });
      const state = (await worldBefore(recording, undefined)).world;
      if (state === undefined) throw new ClassedError('world_error', 'The rollout did not open its world.');
      const lost = state.since.find(({ effect }) => effect === 'irreversible');
      const current = await withModule(world, recording, module, folder, own.own);
      const from = state.snapshot === undefined ? undefined : await api.getBlob(state.snapshot.sha, signal);
      const session = await openWorld(current, own, true).open(
        { task: info.task, seed: state.seed, ...(from === undefined ? {} : { from }) },
        signal,
      );
      try {
        if (lost !== undefined && session.specs.some(({ name }) => name === lost.name))
          throw new ClassedError(
            'world_error',
            `The final state cannot be restored: ${lost.name} is irreversible, and was called after the newest ` +
              'snapshot.',
          );
        await replayCalls(session, { world: state, submission: sent }, signal);
        return await judge(session, await whole(model.end?.data.answer ?? null), info.task.answer, signal);
      } finally {
        await session.close();
      }
    },
  );
}

async function withModule(
  world: SubmittedWorld,
  { sent }: Recording,
  bundle: Bundle | undefined,
  folder: string,
  own: Map<string, Uint8Array>,
): Promise<SubmittedWorld> {
  if (world.kind !== 'module') return world;
  if (bundle === undefined) {
    const now = await moduleNow(world.module, modulesOf(sent), folder);
    for (const { sha, bytes } of now.blobs) own.set(sha, bytes);
    return { ...world, module: now.module };
  }
  own.set(bundle.bundleSha, bundle.code);
  own.set(bundle.mapSha, bundle.map);
  return { ...world, module: { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha } };
}

function judge(session: WorldSession, answer: Json, expected: Json | undefined, signal: AbortSignal): Promise<Verdict> {
  if (session.verify === undefined) throw new ClassedError('world_error', 'This world has no `verify`.');
  const ask = (): Promise<never> =>
    Promise.reject(
      new ClassedError('world_error', 'This verifier asks a model. Run it with rollout rescore, which records that.'),
    );
  return session.verify({ answer, expected }, { signal, ask });
}

function changedChecks(score: EventData['score'] | undefined, now: Verdict): CheckChange[] {
  const byName = (checks: readonly Check[] | undefined): Map<string, boolean> =>
    new Map(checks?.map(({ name, passed }) => [name, passed]));
  const [before, after] = [byName(score?.checks), byName(now.checks)];
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [stored, current] = [before.get(name), after.get(name)];
    if (isSameJson(stored ?? null, current ?? null)) return [];
    return [{ name, ...(stored === undefined ? {} : { stored }), ...(current === undefined ? {} : { now: current }) }];
  });
}

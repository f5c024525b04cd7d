/** Judges the stored final state of a recorded rollout again: its newest snapshot, and the calls since then. */
import { moduleNow } from '../client/moduleNow.ts';
import type { VerifierMode } from '../client/published/editedVerifiers.ts';
import { StudioError } from '../common/errors.ts';
import {
  modulesOf,
  type SubmittedCodeWorld,
  type SubmittedSandbox,
  type SubmittedWorld,
} from '../config/submission.ts';
import type { Api } from '../protocol/api.ts';
import type { JudgingContext, Message, Verdict } from '../rollout/ports.ts';
import { conversationOf } from '../rollout/rescoring.ts';
import type { ToolEnvironment } from '../tools/environment.ts';
import { callTroubles } from '../trace/callTroubles.ts';
import { ClassedError } from '../trace/classedError.ts';
import { unspill } from '../trace/spill.ts';
import type { VerifierFault } from '../worlds/code/verifierRunner.ts';
import { verifyFinalState } from '../worlds/code/verify.ts';
import { openWorld } from '../worlds/open.ts';
import { answersOutside, askRecorded } from './recordedAnswers.ts';
import { type Recording, worldBefore } from './recordedCall.ts';
import { replayCalls } from './rerun.ts';
import type { VerifyOptions } from './verify.ts';

type Environment = ToolEnvironment & { readonly own: Map<string, Uint8Array> };

interface FinalVerdict {
  readonly verdict: Verdict;
  /** Why a verifier of a code world did not judge. */
  readonly fault?: { readonly mode: VerifierMode; readonly fault: VerifierFault };
}

/** Runs the verifier of the rollout's world. Throws ClassedError, or StudioError `conflict`, if it cannot be run. */
export async function finalVerdict(
  api: Api,
  recording: Recording,
  environment: (sandbox: SubmittedSandbox | undefined) => Environment,
  options: VerifyOptions,
  signal: AbortSignal,
): Promise<FinalVerdict> {
  const { info, model, sent, whole } = recording;
  const { world } = sent;
  const { world: state, observed = [] } = await worldBefore(recording, undefined);
  if (world === undefined || state === undefined)
    throw new ClassedError('world_error', 'The rollout did not open its world.');
  const own = environment(sent.sandbox);
  const current = await currentWorld(world, recording, options, own.own);
  const answer = await whole(model.end?.data.answer ?? null);
  const troubles = callTroubles(model.events);
  const context: JudgingContext = { signal, ask: askRecorded(answersOutside(model), unasked) };
  const saved = state.snapshot === undefined ? undefined : await api.getBlob(state.snapshot.sha, signal);
  const isStart = saved === undefined && info.task.world?.state === undefined;
  if (current.kind === 'code' && (saved !== undefined || isStart) && !hasChanged(recording, state.snapshot?.seq ?? 0))
    return await verdictOnState(current, recording, { answer, troubles, state: saved, environment: own, context });
  const lost = state.since.find(({ effect }) => effect === 'irreversible');
  const from = saved === undefined ? {} : { from: saved };
  const session = await openWorld(current, own, true).open({ task: info.task, seed: state.seed, ...from }, signal);
  try {
    if (lost !== undefined && session.specs.some(({ name }) => name === lost.name))
      throw new ClassedError(
        'world_error',
        `The final state cannot be restored: ${lost.name} is irreversible, and was called after the newest snapshot.`,
      );
    await replayCalls(session, { world: state, observed, submission: sent }, signal);
    if (session.verify === undefined) throw new ClassedError('world_error', 'This world has no `verify`.');
    const messages = await messagesOf(recording, (sha) => api.getBlob(sha, signal));
    return { verdict: await session.verify({ answer, expected: info.task.answer, messages, troubles }, context) };
  } finally {
    await session.close();
  }
}

/** Returns the conversation that represents the rollout, complete. */
async function messagesOf(
  { model }: Recording,
  readBlob: (sha: string) => Promise<Uint8Array>,
): Promise<readonly Message[]> {
  const events = conversationOf(model).flatMap((m) => model.message(m)?.event ?? []);
  const whole = await Promise.all(events.map((event) => unspill(event, ({ $blob }) => readBlob($blob))));
  return whole.map(({ data: { m, role, parts } }) => ({ m, role, parts }));
}

/** Judges a saved state: the scenario itself is not started. */
async function verdictOnState(
  world: SubmittedCodeWorld,
  { info: { task } }: Recording,
  final: Pick<Parameters<typeof verifyFinalState>[0], 'answer' | 'troubles' | 'state' | 'environment' | 'context'>,
): Promise<FinalVerdict> {
  const name = task.world?.scenario;
  const scenario = name === undefined ? undefined : world.scenarios[name];
  if (name === undefined || scenario === undefined)
    throw new StudioError('conflict', `The batch was submitted without the scenario of task ${task.id}.`);
  let failure: FinalVerdict['fault'];
  const verdict = await verifyFinalState({
    ...final,
    source: { world, name, scenario },
    task,
    expected: task.answer,
    onFault: (mode, fault) => {
      failure = { mode, fault };
    },
  });
  return { verdict, ...(failure === undefined ? {} : { fault: failure }) };
}

/** Whether the world has changed since an event. */
function hasChanged({ model }: Recording, seq: number): boolean {
  return model.events.some((event) => event.seq > seq && event.kind === 'world.diff');
}

function unasked(side: string): ClassedError {
  return new ClassedError(
    'world_error',
    `This verdict needs an answer of the model ${side} that was not recorded. Run rollout rescore, which asks it.`,
  );
}

async function currentWorld(
  world: SubmittedWorld,
  { sent }: Recording,
  { module: bundle, edited, folder }: VerifyOptions,
  own: Map<string, Uint8Array>,
): Promise<SubmittedWorld> {
  if (world.kind === 'code') {
    if (edited === undefined) return world;
    const { world: current, blobs } = edited.in(world);
    for (const { sha, bytes } of blobs) own.set(sha, bytes);
    return current;
  }
  if (world.kind !== 'module') return world; // it has no verifier
  if (bundle === undefined) {
    const now = await moduleNow(world.module, modulesOf(sent), folder);
    for (const { sha, bytes } of now.blobs) own.set(sha, bytes);
    return { ...world, module: now.module };
  }
  own.set(bundle.bundleSha, bundle.code);
  own.set(bundle.mapSha, bundle.map);
  return { ...world, module: { file: bundle.file, bundle: bundle.bundleSha, map: bundle.mapSha } };
}

/** Reads a recorded tool call with everything needed to repeat it: its task, its world, and earlier calls. */

import { StudioError } from '../common/errors.ts';
import { seedOf } from '../common/hash.ts';
import { isJsonObject, type Json, type JsonObject } from '../common/json.ts';
import type { Redactor } from '../common/redaction/redactor.ts';
import {
  agentAt,
  realToolsIn,
  type Submission,
  submission as submissionSchema,
  worldsOf,
} from '../config/submission.ts';
import type { Api, RolloutInfo } from '../protocol/api.ts';
import { callSeed } from '../trace/callSeed.ts';
import type { ToolSpan } from '../trace/model/spans.ts';
import { TrajectoryModel } from '../trace/model.ts';
import { type Provenance, provenanceOf } from '../trace/provenance.ts';
import type { Effect, TraceError } from '../trace/schema.ts';
import { wholeValue } from '../trace/spill.ts';
import type { TaskRecord } from '../trace/task.ts';
import { hasHappened, isRepeated } from '../trace/undone.ts';
import { readEvent } from '../trace/upgrades.ts';
import { isBlobRef, unescapeKeys } from '../trace/values/keys.ts';
import { type ObservedCall, observedBefore } from './observedCalls.ts';
import { answersIn } from './recordedAnswers.ts';
import { hidingValues, type Values, withValues, withWorldValues } from './toolValues.ts';

/** An earlier call that may have changed the world. */
export interface EarlierCall {
  readonly seq: number;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly seed: number;
  readonly effect: Effect;
  /** What models answered to its code. */
  readonly answers: ReturnType<typeof answersIn>;
}

export interface RecordedCall {
  readonly rollout: string;
  readonly seq: number;
  readonly step: number;
  readonly task: TaskRecord;
  readonly name: string;
  readonly id: string;
  readonly arguments: Json;
  /** Complete, even if stored as a blob. */
  readonly result: Json | undefined;
  readonly error: TraceError | undefined;
  /** Set if the call was never made, because a rule answered: the rule. Then there is no result or error. */
  readonly notMade: string | undefined;
  /** Where `result` comes from, if not from the tool. */
  readonly provenance: readonly Provenance[];
  readonly ms: number | undefined;
  readonly effect: Effect;
  /** What models answered to its code. */
  readonly answers: ReturnType<typeof answersIn>;
  /** Seed of this call, unsigned 32-bit. */
  readonly seed: number;
  /** The submission; its agent is the one that made the call. */
  readonly submission: Submission;
  /** Hides the values of its tools. */
  readonly secrets: Redactor;
  /** Present if the rollout had a world. */
  readonly world?: {
    readonly seed: number;
    /** Hash and seq of the newest snapshot before the call. */
    readonly snapshot?: { readonly sha: string; readonly seq: number };
    /** Calls since that snapshot that happened (`hasHappened`), in order of their end. */
    readonly since: readonly EarlierCall[];
    /** The same since the beginning. */
    readonly before: readonly EarlierCall[];
  };
  /** With a world: all calls before this one, whoever answered them, as the agents saw them. */
  readonly observed?: readonly ObservedCall[];
}

/**
 * Reads the call whose start has this seq. `env`: values for `${env:…}`. Throws `usage` if no call starts there,
 * `unsupported` for an imported rollout without tools, and `config` with `details.missing` if values are missing.
 */
export async function readCall(
  api: Api,
  rollout: string,
  seq: number,
  env: Values,
  signal: AbortSignal,
): Promise<RecordedCall> {
  const recording = await readRecording(api, rollout, signal);
  const { info, model, sent, rolloutSeed, whole, argumentsOf } = recording;
  const span = toolCallAt(recording, seq);
  // Only the tools of the agent that made the call are needed: no models, scorers, or other members of a team.
  const caller = agentAt(sent, span.agent) ?? sent.agent;
  const submission: Submission = {
    ...sent,
    agent: { ...caller, tools: withValues(caller.tools, env) },
    ...(sent.world === undefined ? {} : { world: withWorldValues(sent.world, env) }),
  };
  const notMade = span.end?.data.made === false ? (span.end.data.injected ?? '') : undefined;
  const result = notMade === undefined ? model.resultOf(span) : undefined;
  return {
    rollout,
    seq,
    step: span.step,
    task: info.task,
    submission,
    secrets: hidingValues([...caller.tools, ...worldsOf(sent).flatMap(realToolsIn)], env),
    name: span.start.data.name,
    id: span.start.data.call,
    effect: span.start.data.effect,
    arguments: await argumentsOf(span),
    result: result === undefined ? undefined : await whole(result.value),
    error: notMade === undefined ? span.end?.data.error : undefined,
    notMade,
    provenance: provenanceOf(model, span),
    ms: span.end?.data.ms,
    seed: callSeed(model, span, rolloutSeed),
    answers: answersIn(model, span),
    ...(await worldBefore(recording, span)),
  };
}

/** A recorded rollout, with what repeats its calls. */
export interface Recording {
  readonly info: RolloutInfo;
  readonly model: TrajectoryModel;
  /** As it was sent, with `${env:…}` as written. */
  readonly sent: Submission;
  readonly rolloutSeed: number;
  /** Returns a whole value, even if stored as a blob. */
  readonly whole: (stored: Json) => Promise<Json>;
  readonly argumentsOf: (span: ToolSpan) => Promise<Json>;
}

/** What a recorded or imported rollout is without its code. */
export type RolloutRecord = Pick<Recording, 'info' | 'model' | 'whole' | 'argumentsOf'>;

/** Reads the events of a rollout, which may be imported or still running. */
export async function readRecord(api: Api, rollout: string, signal: AbortSignal): Promise<RolloutRecord> {
  return await recordOf(api, await api.rollout(rollout, signal), signal);
}

/** Returns a tool call by the seq of its start. Throws StudioError `usage` if none starts there. */
export function toolCallAt({ info, model }: Pick<RolloutRecord, 'info' | 'model'>, seq: number): ToolSpan {
  const span = model.span(seq);
  if (span?.kind === 'tool') return span;
  throw new StudioError('usage', `No tool call starts at event ${seq} of rollout ${info.row.rollout}.`, {
    hint: 'Use ROLLOUT@SEQ of the start of a call. To list them: rollout tools BATCH --calls TOOL.',
  });
}

/** Reads a whole rollout. Throws StudioError `unsupported` for an imported one. */
export async function readRecording(api: Api, rollout: string, signal: AbortSignal): Promise<Recording> {
  const info = await api.rollout(rollout, signal);
  const { imported } = await api.batch(info.row.batch, signal);
  if (imported)
    throw new StudioError('unsupported', 'This rollout was imported without its tools.', {
      hint: 'Only calls of rollouts that ran here can be repeated.',
    });
  const record = await recordOf(api, info, signal);
  const sent = submissionSchema.parse(JSON.parse(new TextDecoder().decode(await api.getBlob(info.submission, signal))));
  const { seed } = record.model.start?.data ?? {};
  return { ...record, sent, rolloutSeed: seed ?? seedOf(sent.seed, info.task.id, info.row.attempt) };
}

async function recordOf(api: Api, info: RolloutInfo, signal: AbortSignal): Promise<RolloutRecord> {
  const model = new TrajectoryModel();
  for await (const page of api.allEvents(info.row.rollout, signal)) model.push(page.map((event) => readEvent(event)));
  const whole = async (stored: Json): Promise<Json> =>
    isBlobRef(stored) ? wholeValue(stored, await api.getBlob(stored.$blob, signal)) : unescapeKeys(stored);
  return { info, model, whole, argumentsOf: (span) => whole(model.argumentsOf(span).value) };
}

/** A tool that is declared as pure and changed something has to be called again, as one that is restorable. */
function effectOf({ start: { data } }: ToolSpan, changed: boolean): Effect {
  return isRepeated(data.effect, changed) ? 'restorable' : data.effect;
}

/** Returns what restores the world before a call; without `span`, at the end of the rollout. */
export async function worldBefore(
  recording: Recording,
  span: ToolSpan | undefined,
): Promise<Pick<RecordedCall, 'world' | 'observed'>> {
  const { model, rolloutSeed, argumentsOf } = recording;
  // Calls in a world run one at a time: calls of the same turn that ended before this one also ran before it.
  const until = span?.end?.seq ?? model.last + 1;
  const earlier = model.events.slice(0, until - 1);
  const opened = earlier.find((event) => event.kind === 'world.open' && !('unknown' in event));
  if (opened?.kind !== 'world.open' || 'unknown' in opened) return {};
  let snapshot: { sha: string; seq: number } | undefined;
  for (const event of earlier) {
    if ('unknown' in event) continue;
    if (event.kind === 'world.snapshot') snapshot = { sha: event.data.snapshot, seq: event.seq };
  }
  const ended = model.tools
    .filter((one) => one !== span && one.end !== undefined && one.end.seq < until && hasHappened(one.end.data))
    .sort((a, b) => (a.end?.seq ?? 0) - (b.end?.seq ?? 0));
  const before: (EarlierCall & { readonly end: number })[] = [];
  for (const one of ended) {
    const args = await argumentsOf(one);
    before.push({
      seq: one.seq,
      end: one.end?.seq ?? 0,
      name: one.start.data.name,
      arguments: isJsonObject(args) ? args : {},
      seed: callSeed(model, one, rolloutSeed),
      effect: effectOf(one, model.diffsOf(one.seq).length > 0),
      answers: answersIn(model, one),
    });
  }
  const covered = snapshot?.seq ?? 0;
  return {
    world: {
      // Recorded when the world was opened; absent only in streams without seeds.
      seed: opened.data.seed ?? 0,
      ...(snapshot === undefined ? {} : { snapshot }),
      since: before.filter(({ end }) => end > covered),
      before,
    },
    observed: await observedBefore(recording, span),
  };
}

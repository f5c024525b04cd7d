/**
 * The only definition of the trajectory format. A stream is a list of events with seq 1, 2, 3 … and one writer at a
 * time: the holder of the rollout's lease for a rollout stream, the server for a batch stream. Readers keep unknown
 * kinds and unknown fields.
 *
 * To change the meaning of a field, or to remove one, raise `TRACE_VERSION` and add a step to `upgrades.ts`.
 */
import { z } from 'zod';
import { calledTools } from './schema/calls.ts';
import { traceError } from './schema/errors.ts';
import { faultCounts } from './schema/faults.ts';
import { blobRef, int, json, part, sha } from './schema/parts.ts';
import { predictedTools, prediction } from './schema/prediction.ts';
import { rateCounts } from './schema/rates.ts';
import { totals } from './schema/totals.ts';
import { change, worldOpen, worldOutcome } from './schema/world.ts';

export {
  ERROR_CLASSES,
  type ErrorClass,
  errorClass,
  type LimitKind,
  type Place,
  place,
  type TraceError,
  traceError,
} from './schema/errors.ts';
export { type BlobRef, type Part, part } from './schema/parts.ts';
export type { Prediction } from './schema/prediction.ts';
export { type SideUsage, sideUsage, type Totals, totals } from './schema/totals.ts';
export { type Change, change, WORLD_OUTCOMES, type WorldOutcome, worldOutcome } from './schema/world.ts';

export const TRACE_VERSION = 1;

/** A value with more bytes of JSON than this is stored as a blob; the event has a reference (see `blobRef`). */
export const INLINE_LIMIT = 64 * 1024;

const seq = int.min(1);
const ms = z.number().min(0);

/**
 * Failed tries before the last one: the time of the failure, the wait after it, and the error class; of a model call
 * also the endpoint.
 */
const retries = z.array(z.object({ at: int, ms, class: z.string(), endpoint: z.string().optional() }));

// ---- messages -------------------------------------------------------------------------------------------------

export const role = z.enum(['system', 'user', 'assistant', 'tool']);
export type Role = z.infer<typeof role>;
export const origin = z.enum(['sampled', 'given', 'tool', 'compacted', 'edited']);
export type Origin = z.infer<typeof origin>;

/** Ordered ranges of message ordinals, both ends inclusive. */
export const context = z.array(z.tuple([int.min(1), int.min(1)]));
export type Context = z.infer<typeof context>;

// ---- scores -----------------------------------------------------------------------------------------------------

/** One check of a score. Failed checks explain why an attempt did not pass. */
export const check = z.object({
  /** The subject, such as `answer` or `loans L-3001`. */
  name: z.string(),
  passed: z.boolean(),
  /** The failure in a few words that are the same for all tasks, such as `loans: row not renewed`. */
  cause: z.string().optional(),
  /** For a row, an object with its columns. */
  expected: json.optional(),
  actual: json.optional(),
  /** The checked row of the world, and its state at the start. */
  row: z.object({ table: z.string(), key: json, before: json.optional() }).optional(),
});
export type Check = z.infer<typeof check>;

// ---- results of outside effects -------------------------------------------------------------------------------

/**
 * `facts`: code answered from the facts of a search world. `overlay`: the real answer, as a model changed it by what it
 * had simulated before.
 */
export const source = z.enum([
  'live',
  'recorded',
  'simulated',
  'facts',
  'overlay',
  'predicted',
  'edited',
  'observed',
  'imported',
]);
export type Source = z.infer<typeof source>;
export const effect = z.enum(['pure', 'restorable', 'irreversible']);
export type Effect = z.infer<typeof effect>;
/** A call in another rollout. */
const recordedPlace = z.object({ rollout: z.string(), seq });
export type RecordedPlace = z.infer<typeof recordedPlace>;
/** `cut`: only in a fork, for a call that was open at the fork point. The fork repeats it. */
/** Why a server gives a model endpoint to others than the one who waits for it. */
export const waitReason = z.enum(['priority', 'share', 'tokens']);
export type WaitReason = z.infer<typeof waitReason>;

const callStatus = z.enum(['ok', 'error', 'cut']);

export const usage = z.object({
  input_tokens: int.min(0),
  output_tokens: int.min(0),
  cached_tokens: int.min(0).optional(),
  reasoning_tokens: int.min(0).optional(),
});
export type Usage = z.infer<typeof usage>;

export const rolloutStatus = z.enum(['done', 'truncated', 'cancelled', 'infrastructure']);
export type RolloutEndStatus = z.infer<typeof rolloutStatus>;

/** Checked without a schema for each ID, of which an export reads millions. */
const ids = z.custom<number[]>(
  (value) => Array.isArray(value) && value.every(Number.isSafeInteger),
  'not a list of IDs',
);

/** The tokens of one model call: the content of the blob to which `model.end` refers. */
export const tokenRecord = z.object({
  /** The prompt as a difference: the first `keep` IDs of prompt + completion of the call with span `of`, then `ids`. */
  prompt: z.object({ of: seq.optional(), keep: int.min(0).optional(), ids }),
  completion: ids,
  /** Base64 of little-endian float32, one per completion ID. */
  logprobs: z.string().optional(),
});
export type TokenRecord = z.infer<typeof tokenRecord>;

/** What somebody paused to change the weights, an endpoint or one of its replicas, and who. */
const pause = z.object({ endpoint: z.string(), by: z.string().optional() });
export type Pause = z.infer<typeof pause>;

/** A token; `text` if the endpoint can decode it. */
const token = z.object({ id: z.int(), text: z.string().optional() });
/**
 * The first token of a prompt that differs from the prompt and completion of the call before: its position, from 0, and
 * the token there and here. Absent at an end of the tokens.
 */
export const drift = z.object({ at: int.min(0), was: token.optional(), is: token.optional() });
export type Drift = z.infer<typeof drift>;

/** Fork point of a batch. `differs`: differences of code and configuration from the parent, one line each. */
export const forkPoint = z.object({ rollout: z.string(), seq: int.min(0), differs: z.array(z.string()).optional() });

// ---- the kinds ------------------------------------------------------------------------------------------------

/** Creates the schema of a kind's data, on first use: pages that read only validated events need none. */
const eventData = {
  // Kinds in a rollout stream. Imported streams lack fields that their source lacks.
  'rollout.start': () =>
    z.object({
      batch: z.string(),
      task: z.string(),
      attempt: int.min(1),
      try: int.min(1),
      seed: int.optional(),
      config: sha.optional(),
      code: sha.optional(),
      model: z.string().optional(),
      /** The part of the mix of its batch that it is of: it decides its sampling and its prompt. */
      part: z.string().optional(),
      fork: z.object({ rollout: z.string(), seq: int.min(0) }).optional(),
      /** In a batch that rescores another one: the rollout that is scored again, which ends at `seq`. */
      rescores: z.object({ rollout: z.string(), seq: int.min(0) }).optional(),
      /** `none`: an imported stream whose source has no times. `at` is the time of import, so only the order counts. */
      times: z.literal('none').optional(),
    }),
  'rollout.lease': () =>
    z.object({
      epoch: int.min(1),
      worker: z.string(),
      how: z.enum(['fresh', 'resumed', 'closing']),
      snapshot: sha.optional(),
    }),
  'rollout.handover': () => z.object({ worker: z.string() }),
  message: () =>
    z.object({
      m: int.min(1),
      role,
      parts: z.array(part),
      origin,
      from: z.string().optional(),
      to: z.string().optional(),
      topic: z.string().optional(),
      /** For a message that only a side model sees or writes: as in `model.start`. */
      side: z.string().min(1).optional(),
      priority: int.optional(),
      headers: z.record(z.string(), json).optional(),
    }),
  'model.start': () =>
    z.object({
      /** Number of its step, from 1. For a call of a side model: the step that contains it, 0 before the first. */
      step: int.min(0),
      /**
       * For a call of a side model (a model other than the agents'), which is not a step: `user` (the simulated user),
       * `judge`, or the name of another one. Absent for an agent's call.
       */
      side: z.string().min(1).optional(),
      /** Absent only in imported streams whose source lacks it. */
      model: z.string().optional(),
      endpoint: z.string().optional(),
      context,
      sampling: z.record(z.string(), json),
      tools: sha.optional(),
      /** Version of the endpoint's weights, if it was announced. */
      weights: z.string().optional(),
    }),
  'model.end': () =>
    z.object({
      status: callStatus,
      m: int.min(1).optional(),
      finish_reason: z.string().optional(),
      usage: usage.optional(),
      ms: ms.optional(),
      queue_ms: ms.optional(),
      first_ms: ms.optional(),
      retries: retries.optional(),
      /** How long it waited for the end of a pause of its endpoint, and how many requests a pause aborted. */
      paused_ms: ms.optional(),
      aborted: int.min(1).optional(),
      /** That pause; of several, the one that it waited for most of the time. */
      pause: pause.optional(),
      /**
       * How long the server held it back, and why most of that time: rollouts of a higher priority used the endpoint,
       * others had their turn, or a limit on tokens was reached.
       */
      waited_ms: ms.optional(),
      waited_for: waitReason.optional(),
      /** Version of the weights at the end, and when the request was sent, unless all are the same. */
      weights: z.string().optional(),
      weights_from: z.string().optional(),
      tokens: blobRef.optional(),
      /** Its messages continue those of the agent's last call with tokens, but its prompt does not begin with them. */
      drift: drift.optional(),
      trainable: z.boolean(),
      why_not: z.string().optional(),
      source,
      error: traceError.optional(),
    }),
  'tool.start': () =>
    z.object({ call: z.string(), name: z.string(), arguments: json, raw: z.string().optional(), effect }),
  'tool.end': () =>
    z.object({
      status: callStatus,
      /** Present only if it differs from the response in the tool message `m`. */
      result: json.optional(),
      m: int.min(1).optional(),
      ms: ms.optional(),
      source,
      /** With `source: recorded`, in a recorded world: the call whose answer this is. */
      recorded: recordedPlace.optional(),
      /** The rule that changed the call; `result` is then what the tool really returned. */
      injected: z.string().optional(),
      /** With `source: overlay`: what the real tool returned. */
      real: json.optional(),
      /** The tool was never called: the rule answered. */
      made: z.literal(false).optional(),
      /** Failed calls before the last one. `ms` includes all of them. */
      retries: retries.optional(),
      /** Bytes of output beyond the limit. The result refers to the blob with the whole output. */
      cut: int.min(0).optional(),
      error: traceError.optional(),
    }),
  'agent.start': () => z.object({ how: z.enum(['team', 'handoff', 'parallel', 'loop']), m: int.min(1).optional() }),
  'agent.end': () =>
    z.object({ status: callStatus, m: int.min(1).optional(), ms: ms.optional(), error: traceError.optional() }),
  'world.open': () => worldOpen,
  'world.close': () =>
    z.object({ status: z.literal('cut').optional(), ms: ms.optional(), error: traceError.optional() }),
  'world.diff': () => z.object({ changes: z.array(change) }),
  'world.snapshot': () => z.object({ snapshot: sha, bytes: int.min(0) }),
  /** With a span, the score of that call alone; otherwise of the rollout. */
  score: () =>
    z.object({
      /** In the batch stream: the scored rollout. */
      rollout: z.string().optional(),
      /** A person is `person:NAME`. */
      scorer: z.string(),
      /** Hash of the scorer's configuration and code: two scores with the same one come from the same scorer. */
      version: z.string().optional(),
      /** Who requested it, if it is a later verdict. */
      by: z.string().optional(),
      /** The rollout of the batch that rescored this one, which has the record of the scorer. */
      run: z.string().optional(),
      value: z.number().nullable(),
      passed: z.boolean().nullable(),
      outcome: worldOutcome.optional(),
      parts: z.record(z.string(), z.number()).optional(),
      checks: z.array(check).optional(),
      explanation: z.string().optional(),
      /** The score compares it with what the agent saw. */
      prediction: prediction.optional(),
      error: traceError.optional(),
    }),
  hold: () =>
    z.object({
      why: z.enum(['breakpoint', 'pause', 'step', 'input', 'lost_server']),
      breakpoint: z.string().optional(),
      side: z.enum(['before', 'after']),
      /** Who holds it: sent the command, made the step, or set the breakpoint. */
      by: z.string().optional(),
      command: z.string().optional(),
      /** It continues by itself after this time. Absent: it waits for as long as it takes. */
      limit_ms: ms.optional(),
    }),
  release: () =>
    z.object({
      how: z.enum(['continue', 'step', 'expired']),
      by: z.string().optional(),
      held_ms: ms,
      command: z.string().optional(),
      value: json.optional(),
    }),
  /** `of`: seq of a start or an end, or ordinal of a message. `path`: JSON pointer into its data. */
  edit: () =>
    z.object({
      of: z.object({ seq: seq.optional(), m: int.min(1).optional() }),
      path: z.string(),
      value: json,
      by: z.string().optional(),
      command: z.string().optional(),
    }),
  log: () => z.object({ stream: z.enum(['out', 'err']), text: z.union([z.string(), blobRef]) }),
  'rollout.end': () =>
    z.object({
      status: rolloutStatus,
      passed: z.boolean().nullable(),
      reward: z.number().nullable(),
      answer: json,
      touched: z.boolean(),
      error: traceError.optional(),
      /** Imported streams may lack all but steps and tool calls. */
      totals: totals.partial({ input_tokens: true, output_tokens: true, cached_tokens: true, ms: true, held_ms: true }),
      /** What the rules of the world did, by rule, without an ancestor's calls. Absent without injected calls. */
      faults: z.record(z.string(), faultCounts).optional(),
      /** What its own calls say about the world, by rate. Absent without a case that can be decided. */
      rates: rateCounts.optional(),
      /** How well a world predicted its own calls, by tool. Absent without a prediction. */
      predictions: predictedTools.optional(),
      /** How its own calls ended, by tool, without those of `predict`. Absent without a call. */
      calls: calledTools.optional(),
      /** Hash of the sampled messages and tool results, including the lineage. Equal for equal trajectories. */
      fingerprint: sha.optional(),
    }),
  // Kinds in a batch stream.
  'batch.start': () =>
    z.object({
      name: z.string(),
      submission: sha.optional(),
      parent: forkPoint.optional(),
      /** The batch whose rollouts it scores again. */
      rescores: z.string().optional(),
      /** The user of the cluster who launched it. */
      by: z.string().optional(),
    }),
  infra: () =>
    z.object({
      what: z.string(),
      pod: z.string().optional(),
      node: z.string().optional(),
      endpoint: z.string().optional(),
      /** It concerns the calls to all replicas of the endpoint. */
      all_replicas: z.literal(true).optional(),
      worker: z.string().optional(),
      rollout: z.string().optional(),
      /** What a trainer requested again, and how often that happened in the batch so far. */
      group: z.string().optional(),
      count: int.min(1).optional(),
      ms: ms.optional(),
      text: z.string(),
    }),
  control: () =>
    z.object({
      command: z.string(),
      verb: z.string(),
      by: z.string(),
      /** The user of the cluster; `by` is the program. */
      user: z.string().optional(),
      rollout: z.string().optional(),
      args: json.optional(),
      result: json.optional(),
    }),
  note: () =>
    z.object({
      rollout: z.string().optional(),
      seq: seq.optional(),
      label: z.string().optional(),
      text: z.string(),
      by: z.string(),
    }),
  'batch.end': () => z.object({ reason: z.string() }),
} as const;

export type EventKind = keyof typeof eventData;
export type EventData = { [K in EventKind]: z.infer<ReturnType<(typeof eventData)[K]>> };

interface Envelope<K extends string, D> {
  /** 1-based position in the stream. */
  seq: number;
  v: number;
  /** Milliseconds since the epoch on the server's clock. Never decreases. */
  at: number;
  kind: K;
  /** Instance path of the agent, such as `desk` or `desk/searcher#2`. */
  agent?: string;
  /** seq of the start of its span. */
  span?: number;
  /** On starts only: seq of the enclosing start. */
  parent?: number;
  data: D;
}

/** An event of a known kind. */
export type TraceEvent = { [K in EventKind]: Envelope<K, EventData[K]> }[EventKind];
export type EventOf<K extends EventKind> = Extract<TraceEvent, { kind: K }>;
/** An event of an unknown kind. It is kept and displayed as JSON. */
export type UnknownEvent = Envelope<string, unknown> & { readonly unknown: true };

const envelope = z.object({
  seq,
  v: int.min(1),
  at: int,
  kind: z.string().min(1),
  agent: z.string().optional(),
  span: seq.optional(),
  parent: seq.optional(),
  data: z.unknown(),
});

/** All known kinds of events, those of rollout streams first. */
export const EVENT_KINDS = Object.keys(eventData) as readonly EventKind[];

const schemas = new Map<EventKind, z.ZodType>();

/** Returns the schema of the data of a kind. */
export function eventDataSchema(kind: EventKind): z.ZodType {
  let schema = schemas.get(kind);
  if (schema === undefined) schemas.set(kind, (schema = eventData[kind]()));
  return schema;
}

export function isKnownKind(kind: string): kind is EventKind {
  return Object.hasOwn(eventData, kind);
}

type EventCheck = { ok: true } | { ok: false; path: string; message: string };

/**
 * Checks whether `raw` is a valid event of the current version. If so, `raw` itself is the event, including unknown
 * fields. For an unknown kind only the envelope is checked.
 */
export function checkEvent(raw: unknown): EventCheck {
  const outer = envelope.safeParse(raw);
  if (!outer.success) return failure('', outer.error);
  const kind = outer.data.kind;
  if (!isKnownKind(kind)) return { ok: true };
  const inner = eventDataSchema(kind).safeParse(outer.data.data);
  return inner.success ? { ok: true } : failure('data', inner.error);
}

function failure(prefix: string, error: z.ZodError): EventCheck {
  const issue = error.issues[0];
  const path = [...(prefix === '' ? [] : [prefix]), ...(issue?.path ?? [])].map(String).join('.');
  return { ok: false, path, message: issue?.message ?? 'not an event' };
}

/**
 * The trajectory format: the only definition of what a stream holds.
 *
 * A stream is a list of events with seq 1, 2, 3 … and one writer at a time. Rollout streams are written by the
 * holder of the rollout's lease, batch streams by the server. Unknown kinds and unknown fields are kept.
 *
 * Changing what a field means, or removing one: raise `TRACE_VERSION` and add a step to `upgrades.ts`.
 */
import { z } from 'zod';
import type { Json } from '../common/json.ts';

export const TRACE_VERSION = 1;

/** A value over this many bytes of JSON is stored as a blob and referred to (see `blobRef`). */
export const INLINE_LIMIT = 64 * 1024;

const int = z.number().int();
const seq = int.min(1);
const ms = z.number().min(0);
const sha = z.string().regex(/^[0-9a-f]{64}$/, 'a sha256 in lower-case hex');
const json: z.ZodType<Json> = z.unknown() as unknown as z.ZodType<Json>; // already JSON: it came out of JSON.parse

/**
 * `{"$blob": sha, bytes, media, head}`: a value kept elsewhere. A user's own key that starts with `$` is written `$$…`.
 */
const blobRef = z.object({
  $blob: sha,
  /** Size in bytes of the blob. */
  bytes: int.min(0),
  /** Media type; `application/json` for a value of an event. */
  media: z.string(),
  /** The first characters of it, for people; at most 1,024. */
  head: z.string(),
});
export type BlobRef = z.infer<typeof blobRef>;

/** Tries before the last one: when each failed, how long was waited then, and the class of its failure. */
const retries = z.array(z.object({ at: int, ms, class: z.string() }));

// ---- messages -------------------------------------------------------------------------------------------------

/** Parts are those of OpenTelemetry's GenAI conventions. */
export const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), content: z.union([z.string(), blobRef]) }),
  z.object({ type: z.literal('reasoning'), content: z.union([z.string(), blobRef]) }),
  /** `arguments` is a value when it could be parsed, else the text the model wrote. */
  z.object({ type: z.literal('tool_call'), id: z.string(), name: z.string(), arguments: json }),
  z.object({ type: z.literal('tool_call_response'), id: z.string(), response: json }),
  /** base64 `content`, or a reference. `modality`: image, audio, video. */
  z.object({
    type: z.literal('blob'),
    mime_type: z.string(),
    modality: z.string().optional(),
    content: z.union([z.string(), blobRef]),
  }),
  z.object({
    type: z.literal('uri'),
    uri: z.string(),
    mime_type: z.string().optional(),
    modality: z.string().optional(),
  }),
]);
export type Part = z.infer<typeof part>;

export const role = z.enum(['system', 'user', 'assistant', 'tool']);
export type Role = z.infer<typeof role>;
export const origin = z.enum(['sampled', 'given', 'tool', 'compacted', 'edited']);
export type Origin = z.infer<typeof origin>;

/** Ordered ranges of message ordinals, both ends included. */
export const context = z.array(z.tuple([int.min(1), int.min(1)]));
export type Context = z.infer<typeof context>;

// ---- errors ---------------------------------------------------------------------------------------------------

export const ERROR_CLASSES = [
  'invalid_arguments',
  'unknown_tool',
  'tool_error',
  'world_error',
  'timeout',
  'cancelled',
  'limit',
  'model_error',
  'malformed_output',
  'context_overflow',
  'infrastructure',
] as const;
export const errorClass = z.enum(ERROR_CLASSES);
export type ErrorClass = z.infer<typeof errorClass>;

/** 1-based line and column. */
export const place = z.object({ file: z.string(), line: int.min(1), column: int.min(1) });
export type Place = z.infer<typeof place>;

/** What a limit bounds. */
const limitKind = z.enum(['steps', 'seconds', 'tokens']);
export type LimitKind = z.infer<typeof limitKind>;

export const traceError = z.object({
  class: errorClass,
  message: z.string(),
  /** Of class `limit`: which one. */
  limit: limitKind.optional(),
  stack: z.string().optional(),
  place: place.optional(),
});
export type TraceError = z.infer<typeof traceError>;

// ---- scores -----------------------------------------------------------------------------------------------------

/** One check of a score. Failed checks say why an attempt did not pass. */
export const check = z.object({
  /** What is checked, e.g. `answer` or `loans L-3001`. */
  name: z.string(),
  passed: z.boolean(),
  /** What failed, in a few words that are the same for all tasks: `loans: row not renewed`. */
  cause: z.string().optional(),
  /** Of a row: an object with its columns. */
  expected: json.optional(),
  actual: json.optional(),
  /** The row of the world that is checked, and how it was at the start. */
  row: z.object({ table: z.string(), key: json, before: json.optional() }).optional(),
});
export type Check = z.infer<typeof check>;

// ---- what an outside effect gave --------------------------------------------------------------------------------

export const source = z.enum(['live', 'recorded', 'edited', 'observed', 'imported']);
export type Source = z.infer<typeof source>;
export const effect = z.enum(['pure', 'restorable', 'irreversible']);
export type Effect = z.infer<typeof effect>;
/** `cut`: of a fork, it was open where the fork was cut; what goes on of it is done anew. */
const callStatus = z.enum(['ok', 'error', 'cut']);

export const usage = z.object({
  input_tokens: int.min(0),
  output_tokens: int.min(0),
  cached_tokens: int.min(0).optional(),
  reasoning_tokens: int.min(0).optional(),
});
export type Usage = z.infer<typeof usage>;

export const change = z.object({
  table: z.string().optional(),
  file: z.string().optional(),
  key: json,
  op: z.enum(['insert', 'update', 'delete']),
  before: json.optional(),
  after: json.optional(),
});
export type Change = z.infer<typeof change>;

export const rolloutStatus = z.enum(['done', 'truncated', 'cancelled', 'infrastructure']);
export type RolloutEndStatus = z.infer<typeof rolloutStatus>;

export const totals = z.object({
  steps: int.min(0),
  tool_calls: int.min(0),
  input_tokens: int.min(0),
  output_tokens: int.min(0),
  cached_tokens: int.min(0),
  /** Wall time of the rollout without holds. */
  ms,
  held_ms: ms,
  cost: z.number().optional(),
});
export type Totals = z.infer<typeof totals>;

/** The tokens of one model call, as the blob that `model.end` refers to holds them. */
export const tokenRecord = z.object({
  /**
   * The prompt as a difference: the first `keep` ids of (prompt + completion) of the call with span `of`, then `ids`.
   */
  prompt: z.object({ of: seq.optional(), keep: int.min(0).optional(), ids: z.array(int) }),
  completion: z.array(int),
  /** base64 of little-endian float32, one per completion id. */
  logprobs: z.string().optional(),
});
export type TokenRecord = z.infer<typeof tokenRecord>;

/**
 * Where a batch that is a fork left its parent. `differs`: what of code and configuration is other than the parent's, a
 * line each.
 */
export const forkPoint = z.object({ rollout: z.string(), seq: int.min(0), differs: z.array(z.string()).optional() });

// ---- the kinds ------------------------------------------------------------------------------------------------

/**
 * How the data of each kind is checked: made when it is first asked for, as a page that reads what a store has checked
 * never does.
 */
const eventData = {
  // In a rollout stream. Absent in imported ones: whatever the source does not tell.
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
      fork: z.object({ rollout: z.string(), seq: int.min(0) }).optional(),
      /**
       * `none`: an imported stream whose source has no times; `at` is then the time of import and only the order
       * counts.
       */
      times: z.literal('none').optional(),
    }),
  'rollout.lease': () =>
    z.object({
      epoch: int.min(1),
      worker: z.string(),
      how: z.enum(['fresh', 'resumed', 'closing']),
      snapshot: sha.optional(),
    }),
  message: () =>
    z.object({
      m: int.min(1),
      role,
      parts: z.array(part),
      origin,
      from: z.string().optional(),
      to: z.string().optional(),
      topic: z.string().optional(),
      priority: int.optional(),
      headers: z.record(z.string(), json).optional(),
    }),
  'model.start': () =>
    z.object({
      step: int.min(1),
      /** Absent only in imported streams whose source does not name it. */
      model: z.string().optional(),
      endpoint: z.string().optional(),
      context,
      sampling: z.record(z.string(), json),
      tools: sha.optional(),
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
      weights: z.string().optional(),
      tokens: blobRef.optional(),
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
      /** Present only where it says more than the tool message `m` does: its response is the result otherwise. */
      result: json.optional(),
      m: int.min(1).optional(),
      ms: ms.optional(),
      source,
      injected: z.string().optional(),
      /** Calls that failed before the one whose end this is; `ms` is of all of them. */
      retries: retries.optional(),
      /** Bytes of output beyond the cap, kept as a blob named in the result. */
      cut: int.min(0).optional(),
      error: traceError.optional(),
    }),
  'agent.start': () => z.object({ how: z.enum(['team', 'handoff', 'parallel', 'loop']), m: int.min(1).optional() }),
  'agent.end': () =>
    z.object({ status: callStatus, m: int.min(1).optional(), ms: ms.optional(), error: traceError.optional() }),
  'world.open': () => z.object({ world: z.string(), kind: z.string(), seed: int.optional(), from: sha.optional() }),
  /** `status`: only `cut`. */
  'world.close': () =>
    z.object({ status: z.literal('cut').optional(), ms: ms.optional(), error: traceError.optional() }),
  'world.diff': () => z.object({ changes: z.array(change) }),
  'world.snapshot': () => z.object({ snapshot: sha, bytes: int.min(0) }),
  score: () =>
    z.object({
      /** In the batch stream: the rollout it is about. */
      rollout: z.string().optional(),
      scorer: z.string(),
      value: z.number().nullable(),
      passed: z.boolean().nullable(),
      parts: z.record(z.string(), z.number()).optional(),
      checks: z.array(check).optional(),
      explanation: z.string().optional(),
      error: traceError.optional(),
    }),
  hold: () =>
    z.object({
      why: z.enum(['breakpoint', 'pause', 'step', 'input', 'lost_server']),
      breakpoint: z.string().optional(),
      side: z.enum(['before', 'after']),
      by: z.string().optional(),
      command: z.string().optional(),
    }),
  release: () =>
    z.object({
      how: z.enum(['continue', 'step', 'expired']),
      by: z.string().optional(),
      held_ms: ms,
      command: z.string().optional(),
      value: json.optional(),
    }),
  /** `of`: seq of a start or an end, or the ordinal of a message; `path`: JSON pointer into its data. */
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
      /** Steps and tool calls always; the rest is absent only in imported streams whose source does not tell it. */
      totals: totals.partial({ input_tokens: true, output_tokens: true, cached_tokens: true, ms: true, held_ms: true }),
      /** sha over the sampled messages and tool results, lineage included: equal = the same trajectory. */
      fingerprint: sha.optional(),
    }),
  // In the batch stream.
  'batch.start': () => z.object({ name: z.string(), submission: sha.optional(), parent: forkPoint.optional() }),
  infra: () =>
    z.object({
      what: z.string(),
      pod: z.string().optional(),
      node: z.string().optional(),
      endpoint: z.string().optional(),
      worker: z.string().optional(),
      rollout: z.string().optional(),
      ms: ms.optional(),
      text: z.string(),
    }),
  control: () =>
    z.object({
      command: z.string(),
      verb: z.string(),
      by: z.string(),
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
  /** Milliseconds since the epoch on the server's clock; never below the event before. */
  at: number;
  kind: K;
  /** Instance path of the agent, e.g. `desk` or `desk/searcher#2`. */
  agent?: string;
  /** seq of the start this belongs to. */
  span?: number;
  /** On starts only: seq of the enclosing start. */
  parent?: number;
  data: D;
}

/** An event of a kind this version knows. */
export type TraceEvent = { [K in EventKind]: Envelope<K, EventData[K]> }[EventKind];
export type EventOf<K extends EventKind> = Extract<TraceEvent, { kind: K }>;
/** An event of a kind this version does not know: kept and shown raw. */
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

/** Every kind of event that this version knows, those of rollouts first. */
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
 * Whether `raw` is a well-formed event of the current version. The raw value itself is then the event: unknown
 * fields stay in it. An unknown kind is well-formed when its envelope is.
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

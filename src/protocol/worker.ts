/**
 * Worker ↔ server, one JSON frame per WebSocket message at `/v1/worker` (bearer: the enrollment token of the
 * batch or of its pods). The worker's HTTP requests use the token of its session.
 * The receiver validates every frame with these schemas, and ignores unknown fields.
 */
import { z } from 'zod';
import type { Json, JsonObject } from '../common/json.ts';
import { forkEdit } from '../config/submission/forkEdit.ts';
import { type TraceEvent, waitReason } from '../trace/schema.ts';
import { breakpoint, controlVerb } from './commands.ts';
import { announced, callsInFlight } from './endpoints.ts';
import { groupSampling } from './groups.ts';
import { lineage } from './lineage.ts';
import { taskRecord } from './task.ts';

export type { Lineage } from './lineage.ts';
export { PROTOCOL, WORKER_PROTOCOL } from './version.ts';

/** Header of `PUT /v1/blobs/<sha>`: the rollout that a worker stores the blob for. */
export const ROLLOUT_HEADER = 'x-rollout';
/** Largest `append` frame. */
export const MAX_APPEND_BYTES = 1024 * 1024;
/** Unacknowledged events a worker keeps per rollout before its loop waits. */
export const SPOOL_BYTES = 8 * 1024 * 1024;
export const BEAT_SECONDS = 5;
export const LEASE_SECONDS = 30;
/** A worker that received nothing for this long starts no new effect. */
export const FENCE_SECONDS = 20;

const int = z.number().int();
const json = z.unknown() as unknown as z.ZodType<Json>;
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;
/** Validated individually with `checkEvent`, so that a refusal can identify the event. */
const events = z.array(z.unknown()) as unknown as z.ZodType<TraceEvent[]>;

export const grant = z.object({
  type: z.literal('grant'),
  /** A leased rollout. The worker counts it against the number it requested with `lease`. */
  rollout: z.string(),
  epoch: int.min(1),
  batch: z.string(),
  submission: z.string(),
  /**
   * Without the expected answer, unless a prompt contains it, and without the columns in `meta` that neither prompts,
   * nor breakpoints, nor a world use: scoring asks for them (`scoring`).
   */
  task: taskRecord,
  attempt: int,
  try: int,
  /** Its place in the mix, if that is not `attempt`. */
  place: int.min(1).optional(),
  /** For a fork: the part of the mix of its parent. */
  part: z.string().optional(),
  /** Sampling parameters that its group, or that of its parent, was requested with. */
  sampling: groupSampling.optional(),
  /** Empty unless a fork, or a rollout that scores another one again. */
  lineage,
  /** For a fork: where it left its parent, and its initial edits (right after `rollout.start` and `rollout.lease`). */
  fork: z.object({ rollout: z.string(), seq: int.min(0) }).optional(),
  edits: z.array(forkEdit).optional(),
  /** In a batch that rescores another one: the rollout to score again, whose events 1..seq it shares. */
  rescores: z.object({ rollout: z.string(), seq: int.min(0) }).optional(),
  /**
   * Last durable seq of the rollout, its lineage included; 0 = nothing yet. The worker reads 1..last by GET before it
   * starts.
   */
  last: int.min(0),
  breakpoints: z.array(breakpoint),
  paused: z.boolean(),
  /** Whether the rollout was held when its worker was lost: it is held again at the same gate. */
  held: z.boolean(),
});
export type Grant = z.infer<typeof grant>;

export const workerFrame = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('hello'),
    protocol: int,
    /** Recorded in the batch, even if the worker is refused. Names of pods are not longer. */
    worker: z.string().max(253),
    slots: int.min(1),
    rollouts: z.array(z.object({ rollout: z.string(), epoch: int, last: int })),
    /** The UID of its pod: with the enrollment token of pods, it proves which of them this is. */
    pod: z.string().min(1).max(100).optional(),
    /** The token of its previous session: only with it, the session's name and rollouts can be taken over. */
    resume: z.string().optional(),
    /** Why there is no sandbox for what its tools start, if only the worker can tell. */
    no_sandbox: z.string().max(1000).optional(),
    /** How long ago an earlier connection was lost. */
    away_ms: int.min(0).optional(),
  }),
  /** `want` adds to earlier requests that are still pending. */
  z.object({ type: z.literal('lease'), want: int.min(0) }),
  z.object({ type: z.literal('append'), rollout: z.string(), epoch: int, from: int.min(1), events }),
  z.object({ type: z.literal('delta'), rollout: z.string(), epoch: int, span: int, offset: int, text: z.string() }),
  z.object({
    type: z.literal('beat'),
    load: z.object({
      running: int,
      held: int,
      waiting: int,
      rss: int,
      /** Most model calls at once that ran or waited since the last beat. */
      peak: int.min(0).optional(),
    }),
    /** Sent once if the clock of its machine is too far ahead of the server's (negative: behind). */
    skew_ms: int.optional(),
  }),
  /** The agent has ended: asks for the rest of the task. After this, no further action of the agent is accepted. */
  z.object({ type: z.literal('scoring'), rollout: z.string(), epoch: int }),
  z.object({ type: z.literal('claim'), claim: z.string(), breakpoint: z.string(), rollout: z.string(), epoch: int }),
  z.object({
    type: z.literal('done'),
    command: z.string(),
    seq: int.optional(),
    inspector: z.string().optional(),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  }),
  /** Reports the result of a model call or the load of the model server, for back-pressure. */
  z.object({
    type: z.literal('endpoint'),
    endpoint: z.string(),
    what: z.enum(['ok', 'busy', 'down', 'denied', 'missing']),
    retry_after_ms: int.optional(),
    text: z.string().optional(),
    /** Number of calls this reports; 1 by default. */
    count: int.min(1).optional(),
  }),
  /** Sent when it follows a new announcement, and whenever the number of its calls to a paused endpoint changes. */
  callsInFlight.extend({ type: z.literal('calls') }),
  /** The worker has to stop: it takes nothing more, and hands its rollouts over. */
  z.object({ type: z.literal('leaving') }),
  /** Gives a rollout back, all of whose events are stored: another worker continues it. */
  z.object({ type: z.literal('handover'), rollout: z.string(), epoch: int }),
  /** The worker stops: its sessions end, and its rollouts are requeued immediately. */
  z.object({ type: z.literal('bye') }),
]);
export type WorkerFrame = z.infer<typeof workerFrame>;

/** Returns whether a frame is of a type that these do not have: one that a newer version of the other end sends. */
export function isUnknownFrame(raw: unknown, schema: typeof workerFrame | typeof serverToWorker): boolean {
  const type: unknown = typeof raw === 'object' && raw !== null ? Reflect.get(raw, 'type') : undefined;
  return typeof type === 'string' && schema.options.every((option) => option.shape.type.value !== type);
}

export const serverToWorker = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('welcome'),
    /** The server's version of this protocol. Servers before version 5 do not say it. */
    protocol: int.optional(),
    session: z.string(),
    /** Valid until the session ends. */
    token: z.string(),
    clock: int,
    beat_s: z.number(),
    lease_s: z.number(),
    keep: z.array(z.object({ rollout: z.string(), durable: int })),
    drop: z.array(z.string()),
    /** Known before its first call. */
    announced,
    /** Addresses of the models that are installed on the target, by the names by which calls may name them. */
    models: z.record(z.string(), z.string()).optional(),
  }),
  grant,
  /** Reply to `lease` when fewer than `want` are available now; more may follow. `drained`: there will be no more. */
  z.object({ type: z.literal('granted'), now: int, drained: z.boolean() }),
  z.object({ type: z.literal('ack'), rollout: z.string(), to: int }),
  z.object({
    type: z.literal('refuse'),
    rollout: z.string(),
    code: z.enum(['fenced', 'gap', 'invalid', 'full']),
    durable: int,
    message: z.string(),
  }),
  z.object({
    type: z.literal('beat'),
    clock: int,
    permits: z.record(z.string(), int),
    /** Why this worker has no permits for an endpoint that others may call: its calls wait. */
    waits: z.record(z.string(), waitReason).optional(),
    /** URLs to call instead of an endpoint in the submission: its replicas, while the server knows them. */
    replicas: z.record(z.string(), z.array(z.string())).optional(),
    announced,
  }),
  /** Reply to `scoring`. */
  z.object({
    type: z.literal('scoring'),
    rollout: z.string(),
    epoch: int,
    answer: json.optional(),
    meta: jsonObject.optional(),
  }),
  z.object({ type: z.literal('claimed'), claim: z.string(), yes: z.boolean() }),
  z.object({
    type: z.literal('control'),
    command: z.string(),
    rollout: z.string().optional(),
    verb: controlVerb,
    args: json,
    by: z.string(),
  }),
]);
export type ServerToWorker = z.infer<typeof serverToWorker>;

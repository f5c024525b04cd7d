/** How a server divides what it has among users and queues, and why batches wait: `GET /v1/shares`. */
import { z } from 'zod';

/** The queue of batches that name none, where a server has queues. */
export const DEFAULT_QUEUE = 'default';

const count = z.number().int().min(0);

/** One user or one queue that runs something, waits, or has a weight or limit of its own. */
export const shareRow = z.object({
  kind: z.enum(['user', 'queue']),
  /** The user's name, or the queue's. Empty, of a user: whoever launches with a client token. */
  name: z.string(),
  weight: z.number().positive(),
  /** Part of everything that those who can use something now are entitled to, 0 to 1. */
  entitled: z.number().min(0).max(1),
  /** Part of all answered output and input tokens of the last minute, 0 to 1. */
  used: z.number().min(0).max(1),
  batches: count,
  rollouts: z.object({ running: count, held: count, queued: count, limit: count.optional() }),
  pods: z.object({ running: count, limit: count.optional() }),
  /**
   * Tokens of model calls in the last hour. `free_ms`: once the limit is reached, after how many ms calls continue if
   * nothing is used until then.
   */
  tokens: z.object({ hour: count, limit: count.optional(), free_ms: count.optional() }),
  /** Hours of GPUs and CPUs that its pods requested, in the last 24 hours. */
  gpu_hours: z.number().min(0),
  cpu_hours: z.number().min(0),
});
export type ShareRow = z.infer<typeof shareRow>;

/** Why a batch that could run more does not. */
export const WAITING_FOR = [
  'share',
  'rollouts',
  'pods',
  'tokens',
  'priority',
  'endpoint',
  'cluster',
  'queue',
  'paused',
] as const;

/** A batch that waits, as a whole or with a part of its rollouts. */
export const waitingBatch = z.object({
  batch: z.string(),
  why: z.enum(WAITING_FOR),
  /** Place among the batches that wait, from 1: priority first, then age. */
  position: z.number().int().min(1),
  of: z.number().int().min(1),
  /** One sentence for people: what it waits for and what would let it run. */
  text: z.string(),
});
export type WaitingBatch = z.infer<typeof waitingBatch>;

export const sharesReply = z.object({
  /** Whom things are divided among: users, and before them queues where the server has some. */
  rows: z.array(shareRow),
  /** Only batches that the caller may read. */
  waiting: z.array(waitingBatch),
  /** How many batches wait that nobody paused, by priority: also those that the caller may not read. */
  ahead: z.array(z.object({ priority: z.number(), batches: count })).optional(),
  /** Which of the rows is the caller's, so that a launch can show what it may still start. */
  own: z.object({ kind: z.enum(['user', 'queue']), name: z.string() }).optional(),
  /** Names of the queues that a batch file may name. */
  queues: z.array(z.string()),
});
export type SharesReply = z.infer<typeof sharesReply>;

const limit = z.number().int().min(1).optional();

/** A queue of a server, which batch files name with `queue`. */
export const queueInfo = z.object({
  name: z.string(),
  weight: z.number().positive(),
  rollouts: limit,
  pods: limit,
  tokens_per_hour: limit,
});
export type QueueInfo = z.output<typeof queueInfo>;

/** `GET /v1/batches/<id>/hours`: hours of GPUs and CPUs that the pods of a batch requested, by model. */
export const batchHours = z.object({
  models: z.array(z.object({ model: z.string(), gpu_hours: z.number().min(0), cpu_hours: z.number().min(0) })),
});
export type BatchHours = z.infer<typeof batchHours>;

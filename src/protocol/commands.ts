/** Commands that people and programs can send to a running batch or rollout. */
import { z } from 'zod';
import type { Json } from '../common/json.ts';
import { part, role } from '../trace/schema.ts';

const json = z.unknown() as unknown as z.ZodType<Json>;

/** Where rollouts hold (or, with `log`, write a line). Conditions are CEL, see trace/query.ts. */
export const breakpoint = z.object({
  id: z.string(),
  side: z.enum(['before', 'after']),
  /** Name of a tool, or every model call. If absent, any gate. */
  tool: z.string().optional(),
  kind: z.enum(['model', 'tool']).optional(),
  when: z.string().optional(),
  /** Holds from the n-th match on. */
  hits: z.number().int().min(1).optional(),
  log: z.string().optional(),
  /** Only the first match in the whole batch holds; the worker requests it with `claim`. */
  once: z.boolean().optional(),
  /** Who set it. */
  by: z.string().optional(),
});
export type Breakpoint = z.infer<typeof breakpoint>;

/**
 * Verbs sent to workers. Without `rollout`, they apply to all rollouts of the batch at the worker: `hold` when the
 * batch was paused, `release` when it was resumed (ends only the holds of a pause, and may be repeated), `cancel` when
 * it was stopped. `watch`: send live text of the rollout, starting with the open text as a delta at offset 0. `drain`:
 * the worker flushes its events, says bye, and ends, and its rollouts are requeued.
 */
export const controlVerb = z.enum([
  'hold',
  'release',
  'step',
  'edit',
  'inject',
  'skip',
  'answer',
  'cancel',
  'watch',
  'breakpoints',
  'drain',
]);
export type ControlVerb = z.infer<typeof controlVerb>;

export const rolloutVerb = z.enum(['hold', 'release', 'step', 'edit', 'inject', 'skip', 'answer', 'cancel']);
/**
 * `note`: adds a bookmark or note to the batch stream; an empty text removes those with the same label and place.
 */
const batchVerb = z.enum([
  'pause',
  'resume',
  'cancel',
  'retry',
  'rescore',
  'label',
  'seal',
  'breakpoints',
  'note',
  'cancel_group',
  'share',
]);

/** The arguments of each verb. */
export const verbArgs = {
  hold: z.object({}),
  /** `of`: ends only holds of this client, and those of its commands that wait for a gate. */
  release: z.object({ of: z.string().optional() }),
  /**
   * `inspect`: steps into the code of the held call, if it is JavaScript and runs on the machine of a folder store. The
   * reply contains the debugger's address. `into`: also holds at the next side call inside.
   */
  step: z.object({ inspect: z.boolean().optional(), into: z.boolean().optional() }),
  edit: z.object({
    of: z.object({ seq: z.number().int().optional(), m: z.number().int().optional() }),
    path: z.string(),
    value: json,
  }),
  inject: z.object({ message: z.object({ role, parts: z.array(part) }) }),
  skip: z.object({ result: json }),
  answer: z.object({ value: json }),
  cancel: z.object({ reason: z.string().optional() }),
  watch: z.object({ on: z.boolean() }),
  /** `of`: replaces only breakpoints of a batch whose IDs start with this; those of other clients are kept. */
  breakpoints: z.object({ breakpoints: z.array(breakpoint), of: z.string().min(1).optional() }),
  drain: z.object({}),
} as const;

const command = { command: z.string().min(1).max(64), args: json.optional(), by: z.string().max(200).optional() };
/**
 * `POST /v1/rollouts/<id>/commands`. `command` is an ID created by the client: a repeated request gets the first reply.
 */
export const rolloutCommand = z.object({
  ...command,
  verb: rolloutVerb,
  expect: z.object({ seq: z.number().int() }).optional(),
});
export type RolloutCommand = z.infer<typeof rolloutCommand>;
/** Arguments of `note`. */
export const noteArgs = z.object({
  rollout: z.string().optional(),
  seq: z.number().int().min(1).optional(),
  label: z.enum(['bookmark', 'note']),
  text: z.string().max(10_000),
});
/** Arguments of `label`: a person's verdict on a rollout. null withdraws it. */
export const labelArgs = z.object({
  rollout: z.string(),
  passed: z.boolean().nullable(),
  note: z.string().max(10_000).optional(),
});
/**
 * Arguments of `rescore`: creates the batch `batch` (an ID created by the client), which runs the scorer of
 * `submission` (a blob) over the attempts of this batch that have a result, or over those whose rollouts are listed.
 */
export const rescoreArgs = z.object({
  batch: z.string(),
  submission: z.string(),
  secrets: z.record(z.string(), z.string()).optional(),
  rollouts: z.array(z.string()).optional(),
});
/**
 * Arguments of `share`: who else sees the batch of a user of a cluster. `with`: these users too. `everyone`: whoever
 * may read. `only_me`: nobody else any more.
 */
export const shareArgs = z
  .strictObject({
    with: z.array(z.string().min(1).max(500)).min(1).max(1000).optional(),
    everyone: z.literal(true).optional(),
    only_me: z.literal(true).optional(),
  })
  .refine((args) => Object.values(args).filter((value) => value !== undefined).length === 1, 'needs one of the three');
export type ShareArgs = z.infer<typeof shareArgs>;
/** `POST /v1/batches/<id>/commands`. */
export const batchCommand = z.object({ ...command, verb: batchVerb });
export type BatchCommand = z.infer<typeof batchCommand>;

export const commandReply = z.object({
  seq: z.number().int().optional(),
  text: z.string().optional(),
  changed: z.number().int().optional(),
  /**
   * For `step` with `inspect`: WebSocket address on this machine where the call waits for a JavaScript debugger. Absent
   * if it does not wait.
   */
  inspector: z.string().optional(),
});
export type CommandReply = z.infer<typeof commandReply>;

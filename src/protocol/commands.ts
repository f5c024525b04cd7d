/** What people and programs can tell a running batch or rollout to do. */
import { z } from 'zod';
import type { Json } from '../common/json.ts';
import { part, role } from '../trace/schema.ts';

const json = z.unknown() as unknown as z.ZodType<Json>;

/** Where rollouts hold (or, with `log`, write a line). Conditions are CEL, see trace/query.ts. */
export const breakpoint = z.object({
  id: z.string(),
  side: z.enum(['before', 'after']),
  /** Tool by name, or every model call. Absent: any gate. */
  tool: z.string().optional(),
  kind: z.enum(['model', 'tool']).optional(),
  when: z.string().optional(),
  /** Holds from the n-th match on. */
  hits: z.number().int().min(1).optional(),
  log: z.string().optional(),
  /** Only the first match of the whole batch holds; the worker asks by `claim`. */
  once: z.boolean().optional(),
});
export type Breakpoint = z.infer<typeof breakpoint>;

/**
 * Verbs as a worker gets them. `rollout` absent = all rollouts of its batch there: `hold` = the batch was paused,
 * `release` = it was resumed (ends the holds of a pause and no others; a repeat is nothing), `cancel` = it was stopped.
 * `watch`: send live text of the rollout; what is open already comes first, as a delta at offset 0.
 * `drain`: the worker stops now; it flushes what it has, says bye and ends, and its rollouts are queued again.
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
 * `note`: a bookmark or a note, into the batch stream; one with an empty text takes away those of the same label and
 * place.
 */
export const batchVerb = z.enum(['pause', 'resume', 'cancel', 'retry', 'rescore', 'seal', 'breakpoints', 'note']);

/** The arguments of each verb. */
export const verbArgs = {
  hold: z.object({}),
  release: z.object({}),
  /**
   * `inspect`: into the code of the held call, where it is JavaScript on the machine of a store that is a folder; the
   * reply tells where.
   */
  step: z.object({ inspect: z.boolean().optional() }),
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
  /** `of`: only those of a batch whose ids begin with this are replaced; others, of another client, stay. */
  breakpoints: z.object({ breakpoints: z.array(breakpoint), of: z.string().min(1).optional() }),
  drain: z.object({}),
} as const;

const command = { command: z.string().min(1).max(64), args: json.optional(), by: z.string().max(200).optional() };
/** `POST /v1/rollouts/<id>/commands`. `command` is an id the client made: a repeat gives the first answer. */
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
/** `POST /v1/batches/<id>/commands`. */
export const batchCommand = z.object({ ...command, verb: batchVerb });
export type BatchCommand = z.infer<typeof batchCommand>;

export const commandReply = z.object({
  seq: z.number().int().optional(),
  text: z.string().optional(),
  changed: z.number().int().optional(),
  /**
   * Of `step` with `inspect`: where the call waits for a JavaScript debugger (a WebSocket of this machine). Absent: it
   * does not.
   */
  inspector: z.string().optional(),
});
export type CommandReply = z.infer<typeof commandReply>;

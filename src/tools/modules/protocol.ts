/**
 * Host ↔ thread: what goes between a worker and a thread that runs a user's module.
 * What the thread sends is checked by the host, for the user's code shares the thread with ours.
 */
import { z } from 'zod';
import type { Json, JsonObject } from '../../common/json.ts';
import type { TaskRecord } from '../../trace/task.ts';

/** What a thread is started with. */
export interface ThreadStart {
  /** file: URL of the bundle. */
  readonly url: string;
  /** A folder for V8's compiled code: the next thread of the module starts faster. */
  readonly cache: string;
  /** Its code names what starts processes: they are watched. */
  readonly startsProcesses: boolean;
}

export type Operation =
  /** A tool of the open world, else one that the module exports. */
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly args: JsonObject;
      readonly seed: number;
      readonly cwd: string;
      readonly secrets?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'open'; readonly task: TaskRecord; readonly seed: number; readonly from: Uint8Array | undefined }
  | { readonly kind: 'verify'; readonly answer: Json; readonly expected: Json | undefined }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'close' }
  /** Calls an exported function. */
  | { readonly kind: 'export'; readonly name: string; readonly args: readonly unknown[] };

export type ToThread =
  /**
   * `inspect`: a tool's call, under a JavaScript debugger. `mark`: the variable that processes it starts are known by.
   */
  | {
      readonly type: 'run';
      readonly id: number;
      readonly op: Operation;
      readonly inspect?: boolean;
      readonly mark?: string;
    }
  | { readonly type: 'abort'; readonly id: number };

const id = z.number().int().min(0);
const stream = z.enum(['out', 'err']);
const printed = z.array(z.tuple([stream, z.string()]));

export const wireTool = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>, // JSON: it came out of JSON.parse
  effect: z.enum(['pure', 'restorable', 'irreversible']).optional(),
  timeout_seconds: z.number().positive().optional(),
  idempotent: z.boolean().optional(),
  retry: z.object({ times: z.number().int().min(1), wait_seconds: z.number().min(0).optional() }).optional(),
  /** JSON Schema of what it returns. */
  output: (z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>).optional(),
  session: z.boolean().optional(),
  /** The stack at its definition. */
  defined: z.string(),
});
export type WireTool = z.infer<typeof wireTool>;

/** What is wrong with a tool, for people; `defined`: the stack at its definition. */
export const toolProblem = z.object({ text: z.string(), defined: z.string() });
export type ToolProblem = z.infer<typeof toolProblem>;

/** What was thrown. `invalid`: the arguments did not fit; `result`: what was returned cannot be told. */
export const thrown = z.object({
  message: z.string(),
  stack: z.string().optional(),
  kind: z.enum(['thrown', 'invalid', 'result']),
});
export type Thrown = z.infer<typeof thrown>;

export const opened = z.object({
  tools: z.array(wireTool),
  verify: z.boolean(),
  snapshot: z.boolean(),
});
export type OpenedWorld = z.infer<typeof opened>;

export const fromThread = z.discriminatedUnion('type', [
  /** The module is loaded. `tools`: JSON of WireTool[]; `problems`: what is wrong with its exports. */
  z.object({
    type: z.literal('ready'),
    tools: z.string(),
    exports: z.array(z.string()),
    problems: z.array(toolProblem),
  }),
  z.object({ type: z.literal('failed'), error: thrown }),
  z.object({
    type: z.literal('done'),
    id,
    /** What was returned: a string as it is, all else as JSON. At most `KEPT_BYTES` of it (limits.ts). */
    text: z.string(),
    form: z.enum(['text', 'json']),
    /** UTF-8 bytes of the whole of it, when `text` is less. */
    bytes: z.number().int().optional(),
    snapshot: z.instanceof(Uint8Array).optional(),
    files: z.array(z.object({ mime_type: z.string(), content: z.string() })).optional(),
    /** JSON of the changes since the last ones. */
    changes: z.string().optional(),
    printed: printed.optional(),
  }),
  z.object({
    type: z.literal('error'),
    id,
    error: thrown,
    changes: z.string().optional(),
    printed: printed.optional(),
  }),
  z.object({ type: z.literal('print'), id, printed }),
  z.object({ type: z.literal('progress'), id }),
  /** The thread waits for a debugger at `url`. */
  z.object({ type: z.literal('inspector'), id, url: z.url() }),
  /** It goes on, with a debugger or without. */
  z.object({ type: z.literal('inspecting'), id }),
  /** The abort arrived: the thread's loop is alive. */
  z.object({ type: z.literal('aborting'), id }),
  /** Thrown outside of any call's promise; `id` 0 = by nobody knows whom. */
  z.object({ type: z.literal('late'), id, error: thrown }),
  /** A process that the module started, and its end. */
  z.object({ type: z.literal('child'), id, pid: z.number().int().min(2), alive: z.boolean() }),
  /** The thread ends itself next: `process.exit` and the like. */
  z.object({ type: z.literal('exit'), id, how: z.string(), stack: z.string().optional() }),
]);
export type FromThread = z.infer<typeof fromThread>;

/**
 * Messages between a worker and a thread that runs a user's module. The host validates messages from the thread,
 * because user code runs in the same thread.
 */
import { z } from 'zod';
import type { Json, JsonObject } from '../../common/json.ts';
import type { TaskRecord } from '../../trace/task.ts';
import type { ScoredMessage } from '../sdk.ts';

/** What a thread loads. */
export interface ModuleStart {
  /** file: URL of the bundle. */
  readonly url: string;
  /** Folder for V8's compile cache, which speeds up the start of later threads. */
  readonly cache: string;
  /** Whether the code may start processes, which must then be watched. */
  readonly startsProcesses: boolean;
}

/** Start parameters of a thread. */
export interface ThreadStart extends ModuleStart {
  /** Where it connects for calls. */
  readonly calls: CallAddress;
}

/** Where a thread connects: a path from the working directory of its process, and what it has to send first. */
export interface CallAddress {
  readonly at: string;
  readonly token: string;
}

export type Operation =
  /** Calls a tool of the open world, or otherwise one that the module exports. */
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly args: JsonObject;
      readonly seed: number;
      readonly cwd: string;
      readonly secrets?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'open'; readonly task: TaskRecord; readonly seed: number; readonly from: Uint8Array | undefined }
  | {
      readonly kind: 'verify';
      readonly answer: Json;
      readonly expected: Json | undefined;
      readonly messages: readonly ScoredMessage[];
    }
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'close' }
  /** Calls an exported function. */
  | { readonly kind: 'export'; readonly name: string; readonly args: readonly unknown[] };

export type ToThread =
  /**
   * `inspect`: runs a tool call in a JavaScript debugger. `mark`: environment variable that identifies its processes.
   */
  | {
      readonly type: 'run';
      readonly id: number;
      readonly op: Operation;
      readonly inspect?: boolean;
      readonly mark?: string;
    }
  | { readonly type: 'abort'; readonly id: number }
  /** Answers `ask`: with the text of the reply, or an error. */
  | {
      readonly type: 'answer';
      readonly id: number;
      readonly ask: number;
      readonly text?: string;
      readonly error?: { readonly class: string; readonly message: string };
    };

const id = z.number().int().min(0);
const stream = z.enum(['out', 'err']);
const printed = z.array(z.tuple([stream, z.string()]));

/** A message to a model. */
const askedMessage = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });
export type AskedMessage = z.infer<typeof askedMessage>;

/** A question of user code to a model, by its name in the file that names the module. */
const asked = z.object({
  model: z.string(),
  messages: z.array(askedMessage).min(1),
  options: z.object({
    temperature: z.number().optional(),
    top_p: z.number().optional(),
    max_tokens: z.number().optional(),
    stop: z.array(z.string()).optional(),
  }),
});
export type Asked = z.infer<typeof asked>;

export const wireTool = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>, // parsed JSON
  effect: z.enum(['pure', 'restorable', 'irreversible']).optional(),
  timeout_seconds: z.number().positive().optional(),
  idempotent: z.boolean().optional(),
  retry: z.object({ times: z.number().int().min(1), wait_seconds: z.number().min(0).optional() }).optional(),
  /** JSON Schema of its result. */
  output: (z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>).optional(),
  session: z.boolean().optional(),
  /** The stack at its definition. */
  defined: z.string(),
});
export type WireTool = z.infer<typeof wireTool>;

/** Describes what is wrong with a tool; `defined`: the stack at its definition. */
const toolProblem = z.object({ text: z.string(), defined: z.string() });
export type ToolProblem = z.infer<typeof toolProblem>;

/** A thrown value. `invalid`: the arguments are invalid; `result`: the result cannot be serialized. */
export const thrown = z.object({
  message: z.string(),
  stack: z.string().optional(),
  /** Code of a shortage that caused it, e.g. `EMFILE`. */
  shortage: z.string().optional(),
  /** The operation on a file that failed. */
  file: z.object({ code: z.string(), path: z.string() }).optional(),
  kind: z.enum(['thrown', 'invalid', 'result']),
});
export type Thrown = z.infer<typeof thrown>;

export const opened = z.object({
  tools: z.array(wireTool),
  verify: z.boolean(),
  snapshot: z.boolean(),
});

export const fromThread = z.discriminatedUnion('type', [
  /** The module is loaded. `tools`: JSON of WireTool[]; `problems`: problems with its exports. */
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
    /** The result: a string unchanged, anything else as JSON. At most `KEPT_BYTES` (limits.ts). */
    text: z.string(),
    form: z.enum(['text', 'json']),
    /** UTF-8 bytes of the full result, if `text` is cut. */
    bytes: z.number().int().optional(),
    snapshot: z.instanceof(Uint8Array).optional(),
    files: z.array(z.object({ mime_type: z.string(), content: z.string() })).optional(),
    /** JSON of the changes since the last call. */
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
  z.object({ type: z.literal('ask'), id, ask: z.number().int().min(1), ...asked.shape }),
  /** The thread waits for a debugger at `url`. */
  z.object({ type: z.literal('inspector'), id, url: z.url() }),
  /** The thread continues, with or without a debugger. */
  z.object({ type: z.literal('inspecting'), id }),
  /** Confirms an abort: the event loop is responsive. */
  z.object({ type: z.literal('aborting'), id }),
  /** An error outside of any call's promise; `id` 0: unknown call. */
  z.object({ type: z.literal('late'), id, error: thrown }),
  /**
   * A process that the module started, or its end. `mark`: the environment variable that identifies it. Handled by the
   * process of the thread.
   */
  z.object({ type: z.literal('child'), mark: z.string(), pid: z.number().int().min(2), alive: z.boolean() }),
  /** The thread is about to exit, e.g. by `process.exit`. */
  z.object({ type: z.literal('exit'), id, how: z.string(), stack: z.string().optional() }),
]);
export type FromThread = z.infer<typeof fromThread>;

/** Description of a loaded module. */
export interface LoadedModule {
  readonly tools: readonly WireTool[];
  /** The text that `tools` were parsed from, for comparison. */
  readonly toolsText: string;
  readonly exports: readonly string[];
  readonly problems: readonly ToolProblem[];
}

/** Parses the description of a module. Throws if it is invalid. */
export function loadedModule(message: Extract<FromThread, { type: 'ready' }>): LoadedModule {
  return {
    tools: z.array(wireTool).parse(JSON.parse(message.tools)),
    toolsText: message.tools,
    exports: message.exports,
    problems: message.problems,
  };
}

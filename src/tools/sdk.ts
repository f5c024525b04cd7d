/**
 * The `rollout-studio` module for tools, worlds, and scorers. It is part of every user bundle, so it is tiny and
 * imports nothing at run time.
 *
 * ```ts
 * import { tool } from 'rollout-studio';
 * import { z } from 'zod';
 *
 * export const renew_loan = tool({
 *   description: 'Renews a loan by a number of days.',
 *   input: z.object({ loan: z.number().int(), days: z.number().int().default(14) }),
 *   effect: 'irreversible',
 *   async run({ loan, days }, { signal, log }) { … },
 * });
 * ```
 * The exported name is the tool's name.
 */
import type { z } from 'zod';

/** Marks definitions created by `tool`, across copies of this file. */
const TOOL = Symbol.for('rollout-studio.tool');
/** Marks values created by `reply`. */
const REPLY = Symbol.for('rollout-studio.reply');

/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/**
 * The side effects of a tool, which determine what can be repeated after a crash or in a fork. `pure`: changes nothing.
 * `restorable`: changes only the state of the world. `irreversible`: anything else.
 */
export type ToolEffect = 'pure' | 'restorable' | 'irreversible';

/** A message to a model that is asked. */
export interface AskMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** Replaces parts of the `sampling` of a model for one question. */
export interface AskOptions {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly stop?: readonly string[];
}

/**
 * Asks a model and returns the text of its reply. `model`: its name in `models` of the file that names the module: of
 * the entry in `tools`, of the world, or of the scorer. `messages`: a list of messages, or a text for one message of
 * role `user`; a question has no memory of earlier ones. The worker sends it, so keys never get into the module.
 *
 * The question is recorded inside the tool call: it streams, it can be held, edited, and stepped into, and a resumed or
 * forked rollout uses the recorded reply. It is not a step of the agent. While the model does not reply, the time limit
 * of the tool is stopped. Each call may ask 256 times. Throws an error whose `code` is the class of the failed call,
 * e.g. `model_error`.
 */
export type Ask = (model: string, messages: string | readonly AskMessage[], options?: AskOptions) => Promise<string>;

/** The second argument of `run`. */
export interface ToolContext<State = unknown> {
  /**
   * Aborted on timeout, on cancellation, and at the end of the rollout. Pass it to `fetch` and similar functions: if
   * the call does not end soon after that, its thread is terminated.
   */
  readonly signal: AbortSignal;
  /** Seed of this call (unsigned 32-bit): the same call of the same rollout always has the same seed. */
  readonly seed: number;
  /** Absolute path of the rollout's working directory. Do not use `process.cwd()`, which all threads share. */
  readonly cwd: string;
  /** The environment variables that tools can access. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * The `secrets` of this module in the agent file, by name. Their values are removed from everything that is recorded.
   */
  readonly secrets: Readonly<Record<string, string>>;
  /** The `state` that `open` of the world returned; undefined outside a world. */
  readonly state: State;
  /** Asks one of the `models` of the file that names this module. */
  readonly ask: Ask;
  /** Writes a line to the log of the trajectory. Printed output also goes there. */
  log(text: string): void;
  /** Reports progress, which restarts the time limit of the tool. */
  progress(text?: string): void;
}

/** How often and after how long a failed call is retried. */
export interface ToolRetry {
  /** Maximum number of retries: 1 to 10. */
  readonly times: number;
  /** Seconds before the first retry, doubled for each further one, at most 60. Default: 1. */
  readonly wait_seconds?: number;
}

/**
 * What a tool with this `output` may return: a value that matches the schema, or a `reply` with one. Without `output`,
 * any value.
 */
export type ToolResult<Output extends z.ZodType> = z.input<Output> | Reply<z.input<Output>>;

export interface ToolOptions<Input extends z.ZodObject, State, Output extends z.ZodType = z.ZodType> {
  /** The description that the model sees. */
  readonly description: string;
  /** A zod object. Arguments are validated with it, and defaults are added, before `run`. */
  readonly input: Input;
  /** Default: `restorable` for tools of a world, otherwise `irreversible`. */
  readonly effect?: ToolEffect;
  /**
   * Whether repeating a call has no further effect, e.g. setting a value or deleting by ID. Always true for `pure`
   * tools. Default: false.
   */
  readonly idempotent?: boolean;
  /**
   * Retries a call that throws or times out, with the same arguments and seed. The model sees only the last result; the
   * trajectory contains all of them. Only for tools with `effect: 'pure'` or `idempotent: true`, because any other call
   * might take effect twice. A resumed or forked rollout uses the recorded result instead of calling again.
   */
  readonly retry?: ToolRetry;
  /**
   * A zod schema of the result of `run`. It also types `run`. A result that does not match is a tool error.
   */
  readonly output?: Output;
  /**
   * Time limit of each call and each retry. Calling `progress` restarts it. Overrides the agent's
   * `limits.tool_seconds`.
   */
  readonly timeout_seconds?: number;
  /** Whether the tool keeps state in module variables, so that each rollout gets its own thread. Default: false. */
  readonly session?: boolean;
  /** Returns a JSON value or a `reply`. The model sees thrown errors as tool errors. */
  run(args: z.output<Input>, context: ToolContext<State>): ToolResult<Output> | Promise<ToolResult<Output>>;
}

export interface ToolDefinition<
  Input extends z.ZodObject = z.ZodObject,
  State = unknown,
  Output extends z.ZodType = z.ZodType,
> extends ToolOptions<Input, State, Output> {
  /** The stack at the definition, used to locate it in the source. */
  readonly defined: string;
}

/** Defines a tool. Export the result; the exported name is the tool's name. */
export function tool<Input extends z.ZodObject, State = unknown, Output extends z.ZodType = z.ZodType>(
  options: ToolOptions<Input, State, Output>,
): ToolDefinition<Input, State, Output> {
  return { ...options, defined: new Error('defined').stack ?? '', [TOOL]: true } as ToolDefinition<
    Input,
    State,
    Output
  >;
}

/** An image or other file that is sent to the model with the response of a tool. */
export interface ReplyFile {
  /** Media type, e.g. `image/png`. */
  readonly mime_type: string;
  /** The content, as bytes or base64. */
  readonly content: Uint8Array | string;
}

export interface Reply<Response = unknown> {
  readonly response: Response;
  readonly files: readonly ReplyFile[];
}

/** Creates a result with images or other files in addition to the response. */
export function reply<Response>(response: Response, files: readonly ReplyFile[]): Reply<Response> {
  return { response, files, [REPLY]: true } as Reply<Response>;
}

// ---- worlds ---------------------------------------------------------------------------------------------------

/** The task that a world is opened for. */
export interface WorldTask {
  readonly id: string;
  readonly question: string;
  readonly answer?: JsonValue;
  readonly level?: string | number;
  readonly world?: { readonly scenario?: string; readonly seed?: number; readonly state?: JsonValue };
  readonly meta: Readonly<Record<string, JsonValue>>;
}

/** One changed row or file. */
export interface WorldChange {
  readonly table?: string;
  readonly file?: string;
  readonly key: JsonValue;
  readonly op: 'insert' | 'update' | 'delete';
  readonly before?: JsonValue;
  readonly after?: JsonValue;
}

/** One check of a verdict, shown as a row of expected and actual values. */
export interface Check {
  /** What is checked, e.g. `answer` or `loans L-3001`. */
  readonly name: string;
  readonly passed: boolean;
  /** What failed, in a few words that are the same for all tasks (`loans: row not renewed`): batches group by it. */
  readonly cause?: string;
  /** The expected value; of a row, an object with its columns. */
  readonly expected?: JsonValue;
  readonly actual?: JsonValue;
  /** The row of the world that is checked; `before`: its columns at the start. */
  readonly row?: { readonly table: string; readonly key: JsonValue; readonly before?: JsonValue };
}

/** The result of a verifier or scorer. `value: null`: cannot be scored. */
export interface Verdict {
  readonly value: number | null;
  readonly passed: boolean | null;
  readonly parts?: Readonly<Record<string, number>>;
  /** The first failed check is the cause that lists show. */
  readonly checks?: readonly Check[];
  readonly explanation?: string;
  /**
   * Scores of single tool calls, by the `id` of the `tool_call` in the messages: rewards for trainers, which do not
   * count for the attempt.
   */
  readonly calls?: readonly {
    readonly call: string;
    readonly value: number | null;
    readonly passed?: boolean | null;
    readonly explanation?: string;
  }[];
}

/** The second argument of `verify` and of scorers. */
export interface JudgeContext {
  /** Aborted when the rollout is cancelled. */
  readonly signal: AbortSignal;
  /** Asks one of the `models` of the world or of the scorer. */
  readonly ask: Ask;
}

/** An open world. Everything except `tools` is optional; missing functions are shown as unsupported. */
export interface WorldSession<State = unknown> {
  /** Passed to each tool as `context.state`, and to `verify`. */
  readonly state?: State;
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** Scores the final state: if there is a `snapshot`, in another process, in a world that continues from it. */
  verify?(
    input: {
      readonly answer: JsonValue;
      readonly expected: JsonValue | undefined;
      /** The conversation. Empty if the world was driven by hand. */
      readonly messages: readonly ScoredMessage[];
      readonly state: State;
    },
    context: JudgeContext,
  ): Verdict | Promise<Verdict>;
  /** Returns the whole state as bytes, which are passed to `open` as `from`. */
  snapshot?(): Uint8Array | Promise<Uint8Array>;
  /** Returns the changes since the last call to `diff`. Called after each tool call. */
  diff?(): readonly WorldChange[] | Promise<readonly WorldChange[]>;
  close?(): void | Promise<void>;
}

/**
 * The `open` function that a world module exports. The same task and seed must result in the same world; with `from`
 * (bytes of a `snapshot`), the world continues from there. A thread opens one world after another, so put all state in
 * the result of `open` and none in module variables. Define tools outside `open` and use `context.state`: then they are
 * defined once per thread instead of once per rollout.
 */
export type OpenWorld<State = unknown> = (
  task: WorldTask,
  seed: number,
  from?: Uint8Array,
) => WorldSession<State> | Promise<WorldSession<State>>;

// ---- scorers --------------------------------------------------------------------------------------------------

/** A message for a verifier or scorer. */
export interface ScoredMessage {
  readonly m: number;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly parts: readonly JsonValue[];
}

/** The function that a scorer module exports. */
export type Score = (
  input: {
    readonly task: WorldTask;
    readonly answer: JsonValue;
    readonly messages: readonly ScoredMessage[];
  },
  context: JudgeContext,
) => Verdict | Promise<Verdict>;

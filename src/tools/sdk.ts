/**
 * What users import as `rollout-studio`: how a tool, a world and a scorer are written.
 * It goes into every user's bundle, so it stays tiny and imports nothing at run time.
 *
 * ```ts
 * import { tool } from 'rollout-studio';
 * import { z } from 'zod';
 *
 * export const renew_loan = tool({
 *   description: 'Renews a loan by some days.',
 *   input: z.object({ loan: z.number().int(), days: z.number().int().default(14) }),
 *   effect: 'irreversible',
 *   async run({ loan, days }, { signal, log }) { … },
 * });
 * ```
 * The exported name is the tool's name.
 */
import type { z } from 'zod';

/** Marks a definition made by `tool`, across copies of this file. */
const TOOL = Symbol.for('rollout-studio.tool');
/** Marks a value made by `reply`. */
const REPLY = Symbol.for('rollout-studio.reply');

/** Any value that JSON can carry. */
export type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue };

/**
 * What calling a tool again means, which decides what may be run a second time after a crash or in a fork.
 * `pure`: nothing is changed outside. `restorable`: only the world's state is changed. `irreversible`: anything else.
 */
export type ToolEffect = 'pure' | 'restorable' | 'irreversible';

/** What `run` is given beside its arguments. */
export interface ToolContext<State = unknown> {
  /**
   * Aborts on time-out, on cancel and at the rollout's end. Hand it to `fetch` and the like; a second later the thread
   * is ended.
   */
  readonly signal: AbortSignal;
  /** Seed of this call, unsigned 32 bits: the same call of the same rollout has the same one. */
  readonly seed: number;
  /** The rollout's working directory, absolute. `process.cwd()` is not it, for threads share theirs. */
  readonly cwd: string;
  /** The environment variables a tool may see. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * What the agent file gives this module under `secrets`, by name. Their values are taken out of everything that is
   * recorded.
   */
  readonly secrets: Readonly<Record<string, string>>;
  /** What `open` of the world gave as its `state`; undefined outside a world. */
  readonly state: State;
  /** A line for the trajectory's log. Whatever is printed goes there too. */
  log(text: string): void;
  /** A sign of life: the tool's time limit starts anew. */
  progress(text?: string): void;
}

/** How often, and after how long, a call that failed is made again. */
export interface ToolRetry {
  /** Calls after the first one, at most: 1 to 10. */
  readonly times: number;
  /** Seconds before the first of them, doubled before each further one, at most 60. Default: 1. */
  readonly wait_seconds?: number;
}

/**
 * What a tool with this `output` may return: what the schema takes, also inside of a `reply`; anything where there is
 * none.
 */
export type ToolResult<Output extends z.ZodType> = z.input<Output> | Reply<z.input<Output>>;

export interface ToolOptions<Input extends z.ZodObject, State, Output extends z.ZodType = z.ZodType> {
  /** Told to the model. */
  readonly description: string;
  /** A zod object. Arguments are checked against it and completed with its defaults before `run`. */
  readonly input: Input;
  /** Default: `restorable` for the tools of a world, else `irreversible`. */
  readonly effect?: ToolEffect;
  /**
   * Making the same call twice does what making it once does, e.g. setting a value or deleting by id. `pure` tools are.
   * Default: false.
   */
  readonly idempotent?: boolean;
  /**
   * A call that throws, or does not end in time, is made again, with the same arguments and the same seed; the model
   * is told only of the last one. For tools with `effect: 'pure'` or `idempotent: true` alone: any other might do
   * something twice.
   * All of them are in the trajectory. A rollout that is resumed or forked takes the recorded result and makes none
   * again.
   */
  readonly retry?: ToolRetry;
  /**
   * A zod schema of what `run` returns. It types `run`, and what does not match it is an error of the tool, not a
   * result.
   */
  readonly output?: Output;
  /**
   * Of each call, also of one that is made again. A sign of life (`progress`) starts it anew. Overrides the agent's
   * `limits.tool_seconds`.
   */
  readonly timeout_seconds?: number;
  /** This tool keeps state in its module's variables: its rollout gets a thread of its own. Default: false. */
  readonly session?: boolean;
  /** Gives what JSON can carry, or a `reply`. What it throws is told to the model as the tool's error. */
  run(args: z.output<Input>, context: ToolContext<State>): ToolResult<Output> | Promise<ToolResult<Output>>;
}

export interface ToolDefinition<
  Input extends z.ZodObject = z.ZodObject,
  State = unknown,
  Output extends z.ZodType = z.ZodType,
> extends ToolOptions<Input, State, Output> {
  /** The stack at its definition, by which it is found in the source. */
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

/** An image or another file that goes to the model with a tool's response. */
export interface ReplyFile {
  /** Media type, e.g. `image/png`. */
  readonly mime_type: string;
  /** The bytes, or their base64. */
  readonly content: Uint8Array | string;
}

export interface Reply<Response = unknown> {
  readonly response: Response;
  readonly files: readonly ReplyFile[];
}

/** A tool's result with images or other files beside the response. */
export function reply<Response>(response: Response, files: readonly ReplyFile[]): Reply<Response> {
  return { response, files, [REPLY]: true } as Reply<Response>;
}

// ---- worlds ---------------------------------------------------------------------------------------------------

/** The task a world is opened for. */
export interface WorldTask {
  readonly id: string;
  readonly question: string;
  readonly answer?: JsonValue;
  readonly level?: string | number;
  readonly world?: { readonly seed?: number; readonly state?: JsonValue };
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

/** What a verifier or scorer finds. `value: null` = cannot be scored. */
export interface Verdict {
  readonly value: number | null;
  readonly passed: boolean | null;
  readonly parts?: Readonly<Record<string, number>>;
  readonly explanation?: string;
}

/** One opened world. Everything but `tools` is optional; what is absent cannot be done, and is shown so. */
export interface WorldSession<State = unknown> {
  /** Handed to each tool as `context.state`, and to `verify`. */
  readonly state?: State;
  readonly tools: Readonly<Record<string, ToolDefinition>>;
  /** Judges the final state. */
  verify?(input: {
    readonly answer: JsonValue;
    readonly expected: JsonValue | undefined;
    readonly state: State;
  }): Verdict | Promise<Verdict>;
  /** The whole state as bytes: `open` is given them as `from`. */
  snapshot?(): Uint8Array | Promise<Uint8Array>;
  /** What changed since the last call of `diff`. Asked after each tool call. */
  diff?(): readonly WorldChange[] | Promise<readonly WorldChange[]>;
  close?(): void | Promise<void>;
}

/**
 * What a world's module exports as `open`. The same task and seed must give the same world;
 * with `from` (bytes of a `snapshot`) the world goes on from there. A thread opens one world after another, so all
 * state belongs into what `open` returns and none into the module's variables. Tools are best defined outside of
 * `open`, with `context.state`: that is done once per thread then, not once per rollout.
 */
export type OpenWorld<State = unknown> = (
  task: WorldTask,
  seed: number,
  from?: Uint8Array,
) => WorldSession<State> | Promise<WorldSession<State>>;

// ---- scorers --------------------------------------------------------------------------------------------------

/** A message as a scorer sees it. */
export interface ScoredMessage {
  readonly m: number;
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly parts: readonly JsonValue[];
}

/** What a scorer's module exports. */
export type Score = (input: {
  readonly task: WorldTask;
  readonly answer: JsonValue;
  readonly messages: readonly ScoredMessage[];
}) => Verdict | Promise<Verdict>;

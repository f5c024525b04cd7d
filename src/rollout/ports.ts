/**
 * What a rollout needs from outside, as interfaces. The rollout knows no transport, no SDK and no process:
 * `worker/` composes the real ones, tests hand in small ones.
 */
import type { Json, JsonObject } from '../common/json.ts';
import type { Change, Check, Effect, Part, Place, Role, TraceEvent, Usage } from '../trace/schema.ts';
import type { TaskRecord } from '../trace/task.ts';

// ---- model ----------------------------------------------------------------------------------------------------

export interface Message {
  /** Ordinal in the rollout's log, from 1. */
  readonly m: number;
  readonly role: Role;
  readonly parts: readonly Part[];
}

/** A JSON Schema (draft 2020-12, or whatever an MCP server returns), passed to the model unchanged. */
export type JsonSchema = JsonObject;

/** Describes a tool to the model, and how the rollout runs it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
  readonly effect: Effect;
  /** Its state lives in one process or connection and is lost with it (a stateful MCP server, a shell). */
  readonly sessionBound: boolean;
  /** Overrides `limits.tool_seconds`. */
  readonly timeoutSeconds?: number;
  /** The same call twice does what it does once. */
  readonly idempotent?: boolean;
  /** A failed call is made again so often; `waitMs` before the first time, doubled before each further one. */
  readonly retry?: { readonly times: number; readonly waitMs: number };
  /** Schema of its result, if known; not sent to the model. */
  readonly output?: JsonSchema;
  /** The call is a question to a person: the rollout is held until somebody answers, and no host is called. */
  readonly asksPerson?: boolean;
  /** Where the function is written, for stacks and links. */
  readonly place?: Place;
  readonly from: { readonly kind: 'module' | 'mcp' | 'builtin' | 'world' | 'agent'; readonly name: string };
}

export interface Sampling {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly stop?: readonly string[];
  /** Goes to the endpoint as it is. */
  readonly extra?: JsonObject;
}

export interface ModelRequest {
  /** What the agent file says, e.g. `http://gpu-1:8000/v1` or `demo:`. */
  readonly endpoint: string;
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly sampling: Sampling;
  /** Unsigned 32 bits. */
  readonly seed: number;
  readonly capture: { readonly token_ids: boolean; readonly logprobs: boolean };
}

export interface ModelReply {
  /**
   * In the order the model gave them: reasoning, text, tool_call. A call whose arguments do not parse keeps them as
   * text.
   */
  readonly parts: readonly Part[];
  readonly finishReason: string;
  readonly usage?: Usage;
  /** Of the answered request, without waits between tries. */
  readonly ms: number;
  readonly queueMs?: number;
  readonly firstMs?: number;
  readonly retries: readonly { readonly at: number; readonly ms: number; readonly class: string }[];
  readonly weights?: string;
  /** The tokens that the engine sampled. If absent, `whyNot` says why. */
  readonly tokens?: {
    readonly prompt: readonly number[];
    readonly completion: readonly number[];
    readonly logprobs?: Float32Array;
  };
  /** Why this call cannot be trained on, when it cannot. */
  readonly whyNot?: string;
}

export interface ModelCallContext {
  readonly signal: AbortSignal;
  /** Text as it streams, already coalesced; `offset` in UTF-16 units of all text sent so far. */
  onDelta?(text: string): void;
  /**
   * Called when the call starts waiting for the endpoint (permits, back-off) and when it goes on: the limits' clock
   * stands still between.
   */
  onWait?(waiting: boolean): void;
}

/** One chat completion. Retries and waits for the endpoint inside. Throws ClassedError. */
export interface ModelClient {
  complete(request: ModelRequest, context: ModelCallContext): Promise<ModelReply>;
}

// ---- tools and worlds -----------------------------------------------------------------------------------------

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Takes what a tool prints. */
export type OnLog = (stream: 'out' | 'err', text: string) => void;

export interface ToolCallContext {
  /** Aborts on time-out, cancel and the rollout's end; a tool must end within a second of it, else it is killed. */
  readonly signal: AbortSignal;
  /** Seed of this call, unsigned 32 bits. */
  readonly seed: number;
  /** What the tool prints. */
  onLog(stream: 'out' | 'err', text: string): void;
  /** Reports progress, which restarts the tool's time limit. */
  onProgress(): void;
  /**
   * Somebody steps into the code of this call. A host that runs code itself lets a debugger in; others make the call as
   * ever.
   */
  readonly inspect?: CallInspection;
}

export interface CallInspection {
  /** The call waits for a debugger at `url`. No time counts until `closed`. */
  opened(url: string): void;
  /** The call's code has ended, or no debugger came. */
  closed(): void;
}

export interface ToolOutcome {
  /** What the model is answered. */
  readonly response: Json;
  /** Images and links that go with it. */
  readonly parts?: readonly Part[];
  /** What changed in the world, if it reports changes. */
  readonly changes?: readonly Change[];
  /** Bytes of output beyond the cap; `full` is the whole output then. */
  readonly cut?: number;
  readonly full?: Uint8Array;
}

/** A set of tools for one rollout. `call` throws ClassedError; it never hangs past its signal. */
export interface ToolHost {
  readonly specs: readonly ToolSpec[];
  call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome>;
  /** `onLog`: takes what was printed outside of any call and not told yet, and the last words of what ends now. */
  close(onLog?: OnLog): Promise<void>;
}

export interface Verdict {
  /** null = unscorable. */
  readonly value: number | null;
  readonly passed: boolean | null;
  readonly parts?: Readonly<Record<string, number>>;
  /** Failed checks say why an attempt did not pass; views show them as a table of expected and actual values. */
  readonly checks?: readonly Check[];
  readonly explanation?: string;
}

export interface WorldSession extends ToolHost {
  /** Judges the final state. Absent: this world has no verifier. */
  verify?(input: { readonly answer: Json; readonly expected: Json | undefined }, signal: AbortSignal): Promise<Verdict>;
  /** The whole state as bytes, from which `open` can go on. Absent: cannot. */
  snapshot?(signal: AbortSignal): Promise<Uint8Array>;
}

export interface World {
  readonly name: string;
  readonly kind: string;
  open(
    input: { readonly task: TaskRecord; readonly seed: number; readonly from?: Uint8Array },
    signal: AbortSignal,
  ): Promise<WorldSession>;
}

// ---- tasks and scores -----------------------------------------------------------------------------------------

export interface ScoreInput {
  readonly task: TaskRecord;
  readonly answer: Json;
  readonly messages: readonly Message[];
  readonly world: WorldSession | undefined;
  readonly seed: number;
  readonly signal: AbortSignal;
}

export interface Scorer {
  readonly name: string;
  /** Throws only if scoring itself failed; the score is then null, with the error. */
  score(input: ScoreInput): Promise<Verdict>;
}

// ---- recording ------------------------------------------------------------------------------------------------

export interface PendingBlob {
  readonly sha: string;
  readonly bytes: Uint8Array;
  readonly media: string;
}

/** Takes the rollout's events in order. What it took is safe only once the server acknowledged it. */
export interface Recorder {
  /**
   * One atomic append; the blobs are stored before it. Never throws; a lost lease aborts the rollout's signal instead.
   */
  append(events: readonly TraceEvent[], blobs: readonly PendingBlob[]): void;
  /** Resolves when there is room for more (the spool of a rollout is bounded). */
  room(): Promise<void>;
  /** Resolves when all that was appended is acknowledged. */
  flushed(): Promise<void>;
  /** Live text of an open span; may be lost. */
  delta(span: number, text: string): void;
  /** A blob of this rollout's lineage. */
  readBlob(sha: string, signal: AbortSignal): Promise<Uint8Array>;
}

/** Server time. `now` in ms since the epoch, never going back. */
export interface Clock {
  now(): number;
}

/** A held rollout returns its slot and takes one again before it continues. */
export interface Slot {
  give(): void;
  take(signal: AbortSignal): Promise<void>;
}

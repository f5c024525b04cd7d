/**
 * Interfaces of what a rollout needs from outside. The rollout knows no transport, SDK, or process: `worker/` provides
 * the real implementations, tests provide small ones.
 */
import type { Json, JsonObject } from '../common/json.ts';
import type { SubmittedModel } from '../config/submission.ts';
import type { CallTroubles } from '../trace/callTroubles.ts';
import type { CallScore } from '../trace/prediction/fidelity.ts';
import type {
  Change,
  Check,
  Effect,
  EventData,
  Part,
  Pause,
  Place,
  Prediction,
  RecordedPlace,
  Role,
  TraceEvent,
  Usage,
  WaitReason,
  WorldOutcome,
} from '../trace/schema.ts';
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
  /** Making the same call twice has the same effect as making it once. */
  readonly idempotent?: boolean;
  /** A failed call is repeated up to `times` times, after `waitMs`, doubled for each further try. */
  readonly retry?: { readonly times: number; readonly waitMs: number };
  /** Schema of its result, if known; not sent to the model. */
  readonly output?: JsonSchema;
  /** The call asks a person: the rollout is held until somebody answers, and no host is called. */
  readonly asksPerson?: boolean;
  /** Where the function is defined, for stacks and links. */
  readonly place?: Place;
  readonly from: { readonly kind: 'module' | 'mcp' | 'builtin' | 'world' | 'agent'; readonly name: string };
}

export interface Sampling {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly stop?: readonly string[];
  /** Sent to the endpoint unchanged. */
  readonly extra?: JsonObject;
}

export interface ModelRequest {
  /** The endpoint in the agent file, e.g. `http://gpu-1:8000/v1` or `demo:`. */
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
   * Reasoning, text, and tool calls, in the order of the model. A call whose arguments cannot be parsed keeps them as
   * text.
   */
  readonly parts: readonly Part[];
  readonly finishReason: string;
  readonly usage?: Usage;
  /** Duration of the successful request, without waits between tries. */
  readonly ms: number;
  readonly queueMs?: number;
  readonly firstMs?: number;
  readonly retries: readonly {
    readonly at: number;
    readonly ms: number;
    readonly class: string;
    readonly endpoint: string;
  }[];
  /** Versions of the endpoint's weights when this request began and ended, if they were announced. */
  readonly weights?: { readonly from?: string | undefined; readonly to?: string | undefined };
  /** What pauses did to the call: how long it waited, how many requests they aborted, and which it was most of it. */
  readonly pause?: { readonly ms: number; readonly aborted: number; readonly of?: Pause };
  /** How long the server held the call back, in favor of others or of a limit, and why most of that time. */
  readonly yielded?: { readonly ms: number; readonly to: WaitReason };
  /** The tokens that the engine sampled. If absent, `whyNot` says why. */
  readonly tokens?: {
    readonly prompt: readonly number[];
    readonly completion: readonly number[];
    readonly logprobs?: Float32Array;
  };
  /** If set, why this call cannot be used for training. */
  readonly whyNot?: string;
  /** The reply is that of a recording: nobody was called. */
  readonly source?: 'recorded';
}

export interface ModelCallContext {
  readonly signal: AbortSignal;
  /** Who calls: an instance path, and the number of its calls so far, with this one. Absent outside rollouts. */
  readonly caller?: { readonly path: string; readonly call: number };
  /** Returns whether somebody watches, so that the reply should be streamed. */
  watched?(): boolean;
  /** Receives text as it streams, in batches. Not called for a reply that comes as a whole. */
  onDelta?(text: string): void;
  /**
   * Called when the call starts and stops waiting for the endpoint (permits, back-off). The clock of the limits is
   * paused meanwhile.
   */
  onWait?(waiting: boolean): void;
  /** Called when a request begins, and when a pause aborts it: limits do not count the time in between. */
  onRequest?(how: 'begins' | 'aborted'): void;
}

export interface ModelClient {
  /** Makes a chat completion. Handles retries and waits for the endpoint. Throws ClassedError. */
  complete(request: ModelRequest, context: ModelCallContext): Promise<ModelReply>;
  /** Returns the texts of tokens, or undefined if the endpoint cannot say it, or not at once. Never throws. */
  decode?(ids: readonly number[], endpoint: string, signal: AbortSignal): Promise<readonly string[] | undefined>;
}

// ---- tools and worlds -----------------------------------------------------------------------------------------

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Receives what a tool prints. */
export type OnLog = (stream: 'out' | 'err', text: string) => void;

/** One call of a side model: a model other than the agents', such as a judge. */
export interface SideQuestion {
  /** Which one, for the record: `judge`, or the name of another one. */
  readonly side: string;
  readonly model: SubmittedModel;
  readonly messages: readonly { readonly role: 'system' | 'user' | 'assistant'; readonly text: string }[];
  /** Replaces parts of the model's own sampling. */
  readonly sampling?: Omit<SubmittedModel['sampling'], 'extra'>;
  /** In a tool call: an endpoint that is down ends only the call, not the attempt. */
  readonly optional?: true;
}

/** Asks a side model and returns the text of its reply. The call is recorded. Throws ClassedError. */
export type Ask = (question: SideQuestion) => Promise<string>;

export interface ToolCallContext {
  /** Aborts on a time-out, a cancellation, or the rollout's end. A tool that does not end within a second is killed. */
  readonly signal: AbortSignal;
  /** Seed of this call, unsigned 32 bits. */
  readonly seed: number;
  /** Receives what the tool prints. */
  onLog(stream: 'out' | 'err', text: string): void;
  /** Reports progress, which restarts the tool's time limit. */
  onProgress(): void;
  /** For code that may ask side models. Absent where nothing can be asked. */
  readonly ask?: Ask;
  /** Called before the whole call is made again elsewhere because its thread was lost. */
  onAgain?(): void;
  /**
   * Set if a person steps into the code of this call. A host that runs code itself waits for a debugger; others make
   * the call as usual.
   */
  readonly inspect?: CallInspection;
}

export interface CallInspection {
  /** The call waits for a debugger at `url`. Clocks are stopped until `closed`. */
  opened(url: string): void;
  /** The call's code has ended, or no debugger came. */
  closed(): void;
}

export interface ToolOutcome {
  /** The response for the model. */
  readonly response: Json;
  /** Images and links that belong to it. */
  readonly parts?: readonly Part[];
  /** Changes of the world, if the tool reports them. */
  readonly changes?: readonly Change[];
  /** Bytes of output beyond the maximum; `full` is the complete output. */
  readonly cut?: number;
  readonly full?: Uint8Array;
  /** Where it comes from, unless the tool itself returned it. */
  readonly source?: 'simulated' | 'facts' | 'overlay' | 'recorded' | 'predicted';
  /** With `source: 'overlay'`: what the tool itself returned. */
  readonly real?: Json;
  /** Of a recorded answer: the call that got it. */
  readonly recorded?: RecordedPlace;
}

/** A set of tools for one rollout. `call` throws ClassedError and always ends after its signal aborts. */
export interface ToolHost {
  readonly specs: readonly ToolSpec[];
  call(call: ToolCall, context: ToolCallContext): Promise<ToolOutcome>;
  /**
   * `onLog` receives output that was printed outside of calls and not reported yet, and what the tools print as they
   * end.
   */
  close(onLog?: OnLog): Promise<void>;
}

export interface Verdict {
  /** null = unscorable. */
  readonly value: number | null;
  readonly passed: boolean | null;
  /** Of a published world. */
  readonly outcome?: WorldOutcome;
  readonly parts?: Readonly<Record<string, number>>;
  /** Failed checks say why an attempt did not pass; views show them as a table of expected and actual values. */
  readonly checks?: readonly Check[];
  readonly explanation?: string;
  /** Scores of single tool calls, by the IDs of the calls: rewards for trainers, which do not count for the rollout. */
  readonly calls?: readonly CallVerdict[];
}

interface CallVerdict {
  readonly call: string;
  readonly value: number | null;
  readonly passed: boolean | null;
  readonly explanation?: string;
}

/** What code that scores may use. */
export interface JudgingContext {
  readonly signal: AbortSignal;
  readonly ask: Ask;
}

export interface WorldSession extends ToolHost {
  /** Judges the final state. Absent: this world has no verifier. */
  verify?(
    input: {
      readonly answer: Json;
      readonly expected: Json | undefined;
      /** The conversation that represents the rollout. Absent: there is none. */
      readonly messages?: readonly Message[];
      /** What the record says about the calls. Absent: there is no record. */
      readonly troubles?: CallTroubles;
    },
    context: JudgingContext,
  ): Promise<Verdict>;
  /** Returns the whole state, from which `open` can continue. Absent: this world has no snapshots. */
  snapshot?(signal: AbortSignal): Promise<Uint8Array>;
  /**
   * For worlds whose state is what the agents saw: receives each call that has ended, with the response that the agent
   * got, in order, whoever answered it. To restore such a world, it receives the recorded calls. None is repeated,
   * except those that `answeredBy` calls real.
   */
  observed?(call: ToolCall, response: Json, how: Observed): void;
  /**
   * With `observed`: who answers the calls of a tool. Real ones have a state of their own: they count for snapshots,
   * and are repeated to restore it. The others never change it. Absent: everything is simulated.
   */
  answeredBy?(tool: string): AnsweredBy;
  /** The system prompt of the model that plays the world. */
  readonly prompt?: string;
  /**
   * For a recording that is replayed: calls are answered as recorded, whatever their arguments are. Takes the ID of a
   * call, and returns `refused` if it did not reach a tool there.
   */
  replays?(id: string): 'answered' | 'refused';
}

/**
 * `overlay`: reads the real answer, and changes it by what was simulated before. `tool`: a tool that belongs to no
 * world, such as one of an MCP server. Its calls are neither undone nor repeated; if its session is lost, so is what
 * they did in it.
 */
export type AnsweredBy = 'real' | 'simulated' | 'overlay' | 'tool';

/** How a call was answered. */
export interface Observed {
  /** A model, a rule, or a person wrote or changed the response: the real system does not know of it. */
  readonly invented: boolean;
  /** False if the call never reached a tool, or whoever answers instead of it: it was refused, or a rule answered. */
  readonly made: boolean;
  /** Of an overlay: what the real system returned. */
  readonly real?: Json;
}

export interface World {
  readonly name: string;
  readonly kind: string;
  /** Describes what a task opens, before it is opened, for the record. */
  about?(task: TaskRecord): Pick<EventData['world.open'], 'scenario' | 'template' | 'clock'>;
  open(
    input: { readonly task: TaskRecord; readonly seed: number; readonly from?: Uint8Array },
    signal: AbortSignal,
  ): Promise<WorldSession>;
}

/** A world that predicts tool calls before they are made. */
export interface ShadowWorld {
  readonly world: World;
  /** A CEL expression: the calls that it predicts. Default: all of its tools. */
  readonly when?: string | undefined;
  /** Over a recording: what it takes for what happened before. Default: next to a rollout, what the agents saw. */
  readonly how?: Exclude<Prediction['how'], 'shadow'>;
  /** Judges a prediction. Throws ClassedError. */
  judge?(judged: JudgedPrediction, ask: Ask): Promise<PredictionVerdict>;
}

export interface JudgedPrediction {
  /** The calls before, as texts, with what the agent saw. */
  readonly before: readonly { readonly action: string; readonly observation: string }[];
  readonly action: string;
  readonly predicted: string;
  readonly real: string;
}

interface PredictionVerdict {
  /** From 0 to 1. */
  readonly value: number;
  /** Marks, from 1 to 5. */
  readonly parts: Readonly<Record<string, number>>;
  readonly explanation: string;
}

// ---- untrusted text -------------------------------------------------------------------------------------------

export interface TextSearch {
  /** A JavaScript regular expression. */
  readonly pattern: string;
  readonly flags: string;
  readonly text: string;
  readonly which: 'first' | 'last';
}

/** The whole match, and its groups; null for a group that does not take part. */
export type Match = readonly (string | null)[];

/**
 * Work on texts of models and tools that can take any amount of time. It never stops the worker, and has a limit:
 * throws ClassedError `malformed_output`.
 */
export interface UntrustedWork {
  search(search: TextSearch, signal: AbortSignal): Promise<Match | null>;
  /** Describes what is wrong with a tool's arguments; undefined if they are valid. */
  argumentProblems(schema: JsonSchema, args: JsonObject, signal: AbortSignal): Promise<string | undefined>;
}

// ---- tasks and scores -----------------------------------------------------------------------------------------

export interface ScoreInput extends JudgingContext {
  readonly task: TaskRecord;
  readonly answer: Json;
  readonly messages: readonly Message[];
  /** What the record says about the calls. */
  readonly troubles: CallTroubles;
  /** The scores of the calls that a world predicted, in order. */
  readonly predictions: readonly CallScore[];
  /** What judges the final state of the world, if there is one. */
  readonly world: Pick<WorldSession, 'verify'> | undefined;
  readonly seed: number;
}

export interface Scorer {
  readonly name: string;
  /** Hash of its configuration and code. */
  readonly version?: string;
  /** Whether it judges the final state of the world. */
  readonly needsWorld?: boolean;
  /** Throws only if scoring itself fails; then the score is null, with the error. */
  score(input: ScoreInput): Promise<Verdict>;
}

// ---- recording ------------------------------------------------------------------------------------------------

export interface PendingBlob {
  readonly sha: string;
  readonly bytes: Uint8Array;
  readonly media: string;
}

/** Records the rollout's events in order. They are durable only once the server acknowledged them. */
export interface Recorder {
  /**
   * Appends events atomically; the blobs are stored before them. Never throws: losing the lease aborts the rollout's
   * signal instead.
   */
  append(events: readonly TraceEvent[], blobs: readonly PendingBlob[]): void;
  /** Resolves when there is room for more events (the spool of a rollout is bounded). */
  waitForRoom(): Promise<void>;
  /** Resolves when everything appended is acknowledged. */
  flushed(): Promise<void>;
  /** Whether somebody watches the live text of this rollout now. */
  readonly watched?: boolean;
  /** Sends live text of an open span; it may be lost. */
  delta(span: number, text: string): void;
  /** Reads a blob of this rollout's lineage. */
  readBlob(sha: string, signal: AbortSignal): Promise<Uint8Array>;
}

/** Server time. `now` returns milliseconds since the epoch and never decreases. */
export interface Clock {
  now(): number;
}

/** A held rollout returns its slot and takes one again before it continues. */
export interface Slot {
  release(): void;
  acquire(signal: AbortSignal): Promise<void>;
}

import { deferred } from '../../common/abort.ts';
import { seedOf } from '../../common/hash.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { EventData, Part } from '../../trace/schema.ts';
import type { Act, ActRequest, EffectResult, Outcome } from '../act/act.ts';
import { toolKey } from '../act/history.ts';
import type { Edits } from '../gates/edits.ts';
import { editStart } from '../gates/edits.ts';
import type { Gates } from '../gates/gates.ts';
import type { Subject } from '../gates/subject.ts';
import type { Envelope, Log } from '../log/log.ts';
import type { Sha256 } from '../log/messages.ts';
import { Counter, type Stopwatch } from '../loop/limits.ts';
import type { CallInspection, ToolOutcome, ToolSpec } from '../ports.ts';
import { type Stop, settledWithin } from '../stop.ts';
import { roundMs, type Time } from '../time.ts';
import type { WorldCall } from '../world.ts';
import { type ToolRetries, withRetries } from './retries.ts';
import { argumentProblems } from './schemaCheck.ts';
import { ToolLog } from './toolLog.ts';
import type { AgentCall, FoundTool, ToolSet } from './toolSet.ts';

export type ToolCallPart = Extract<Part, { type: 'tool_call' }>;

/** Time for an interrupted tool to end before its call is closed anyway. */
const GRACE_MS = 1_000;
/** Minimum interval for checking a limit while the clock is stopped. */
const STILL_MS = 100;
/** Number of characters of a full output in its reference. */
const HEAD = 1_024;

interface ToolCallerParts {
  readonly act: Act;
  readonly log: Log;
  readonly gates: Gates;
  readonly edits: Edits;
  readonly stop: Stop;
  readonly time: Time;
  readonly watch: Stopwatch;
  readonly sha256: Sha256;
  readonly rolloutSeed: number;
  readonly toolSeconds: number;
  /**
   * Whether an earlier holder was lost, so that every call is stored before it is made, to detect calls that end
   * workers.
   */
  readonly careful: boolean;
  /** For a team member: seq of its `agent.start`. */
  readonly parent?: number | undefined;
}

/** A finished call. */
interface ToolCalled {
  readonly part: ToolCallPart;
  /** The request with the edits made at the gate. */
  readonly arguments: Json;
  readonly done: EffectResult<'tool'> & { readonly end: EventData['tool.end'] };
}

/** Makes the tool calls of one agent. */
export class ToolCaller {
  readonly #parts: ToolCallerParts;
  readonly #agent: string;
  readonly #tools: ToolSet;
  /** Paused while the code of a call is debugged, because other calls may share its thread. */
  readonly #clock: Counter;

  constructor(parts: ToolCallerParts, agent: string, tools: ToolSet) {
    this.#parts = parts;
    this.#clock = new Counter(parts.time.monotonic(), 0);
    this.#agent = agent;
    this.#tools = tools;
  }

  /**
   * Makes all calls of one model call (the agent's n-th) in parallel; those of a world run one after another. Returns
   * them in call order. A failed call is an `end` with an error; rejects only if the rollout cannot continue.
   */
  async turn(calls: readonly ToolCallPart[], modelCall: number, step: number): Promise<ToolCalled[]> {
    const found = calls.map((part) => this.#tools.find(part.name));
    const together = found.filter((tool) => tool?.agent !== undefined).length;
    const outcomes = calls.map((part, index): CallOutcome => {
      const call = found[index]?.agent?.ask(part.id, together);
      return call === undefined ? {} : { call };
    });
    const requests = calls.map((part, index) =>
      this.#request(part, seedOf(this.#parts.rolloutSeed, this.#agent, modelCall, index), step, outcomes[index] ?? {}),
    );
    const settled = await Promise.allSettled(await this.#parts.act.all(requests));
    const called = settled.map((result, index): ToolCalled => {
      if (result.status === 'rejected') throw result.reason;
      const part = calls[index];
      const { end } = result.value;
      if (part === undefined || end === undefined) throw new Error('every call has an end');
      return { part, arguments: this.#edited(result.value.span, part), done: { ...result.value, end } };
    });
    const errors = called.flatMap(({ done }) => done.end.error ?? []);
    // Calls that ended because another one ended the rollout are `cancelled`.
    const fatal =
      errors.find((error) => error.class === 'infrastructure') ??
      errors.find((error) => error.class === 'limit' || error.class === 'cancelled');
    if (fatal !== undefined) throw new ClassedError(fatal.class, fatal.message);
    return called;
  }

  #edited(span: number, part: ToolCallPart): Json {
    let data: { arguments: Json } = { arguments: part.arguments };
    for (const { path, value } of this.#parts.edits.ofStart(span)) data = editStart('tool', data, path, value);
    return data.arguments;
  }

  #request(part: ToolCallPart, seed: number, step: number, outcome: CallOutcome): ActRequest<'tool'> {
    const found = this.#tools.find(part.name);
    const effect = found?.spec.effect ?? 'pure';
    const start = startOf(part, effect);
    const world = found?.world;
    const { call } = outcome;
    const worldCall = (span: number): WorldCall => ({
      call: { id: part.id, name: part.name, arguments: argumentsOf(this.#edited(span, part)) },
      seed,
      effect,
    });
    return {
      kind: 'tool',
      agent: this.#agent,
      name: part.name,
      step,
      parent: this.#parts.parent,
      key: () => toolKey(start),
      start: () => ({ data: start }),
      perform: (request, subject) => this.#perform(request, subject, seed, outcome),
      onlyStored: effect === 'irreversible' || this.#parts.careful,
      ...(call === undefined
        ? {}
        : {
            settled: (done: EffectResult<'tool'>) =>
              done.recorded ? call.recalled(argumentsOf(this.#edited(done.span, part)), done.span) : undefined,
          }),
      ...(world === undefined
        ? {}
        : {
            queue: world.queue,
            settled: (done: EffectResult<'tool'>) =>
              done.recorded ? world.recalled(worldCall(done.span), done) : world.called(effect, outcome.value),
          }),
    };
  }

  async #perform(
    request: EventData['tool.start'],
    subject: Subject<'tool'>,
    seed: number,
    outcome: CallOutcome,
  ): Promise<Outcome<'tool'>> {
    const { stop, time, log } = this.#parts;
    const now = (): number => this.#clock.value(time.monotonic());
    const began = now();
    const prints = new ToolLog(log, this.#agent, subject.span);
    const retries: ToolRetries = [];
    const timing = (): CallTiming => ({ ms: roundMs(now() - began), ...(retries.length === 0 ? {} : { retries }) });
    try {
      stop.check();
      const found = this.#checked(request);
      const result = await withRetries(found.spec, this.#retryPorts(prints), retries, () =>
        outcome.call === undefined
          ? this.#make(found, request, subject, seed, prints)
          : delegated(outcome.call, request, subject),
      );
      outcome.value = result;
      prints.end();
      return this.#ended(request, result, timing(), outcome.call?.envelope);
    } catch (thrown) {
      const error = this.#classed(thrown);
      if (error.class === 'infrastructure') stop.stop(error); // ends the attempt and its other calls
      prints.end();
      return failed(request, error, timing(), outcome.call?.envelope);
    }
  }

  #retryPorts(prints: ToolLog): Parameters<typeof withRetries>[1] {
    const { stop, time, log } = this.#parts;
    return {
      now: () => log.now(),
      monotonic: () => this.#clock.value(time.monotonic()),
      classed: (thrown) => this.#classed(thrown),
      log: (text) => prints.add('err', text),
      wait: async (ms) => {
        const over = deferred<undefined>();
        const cancel = time.timer(ms, () => over.resolve(undefined));
        try {
          await stop.race(over.promise);
        } finally {
          cancel();
        }
      },
    };
  }

  /** Checks a call. Throws ClassedError if it is invalid. */
  #checked(request: EventData['tool.start']): FoundTool {
    const found = this.#tools.find(request.name);
    if (found === undefined) {
      const names = this.#tools.names;
      throw new ClassedError(
        'unknown_tool',
        `Unknown tool "${request.name}". ` +
          (names.length === 0 ? 'No tools are available.' : `Available tools: ${names.join(', ')}.`),
      );
    }
    if (request.raw !== undefined && Object.keys(argumentsOf(request.arguments)).length === 0) {
      throw new ClassedError(
        'malformed_output',
        `The arguments of ${request.name} are not valid JSON${reasonOf(request.raw)}. Pass one JSON object that ` +
          `matches ${JSON.stringify(found.spec.parameters)}.`,
      );
    }
    if (!isJsonObject(request.arguments)) {
      throw new ClassedError(
        'invalid_arguments',
        `The arguments of ${request.name} must be one JSON object that ` +
          `matches ${JSON.stringify(found.spec.parameters)}.`,
      );
    }
    const problems = argumentProblems(found.spec.parameters, request.arguments);
    if (problems !== undefined)
      throw new ClassedError(
        'invalid_arguments',
        `The arguments of ${request.name} do not match its schema: ${problems}.`,
      );
    return found;
  }

  async #make(
    { spec, host }: FoundTool,
    request: EventData['tool.start'],
    subject: Subject<'tool'>,
    seed: number,
    prints: ToolLog,
  ): Promise<ToolOutcome> {
    if (spec.asksPerson === true) return { response: await this.#ask(subject) };
    if (host === undefined) return { response: 'The answer was submitted.' };
    const { stop, time, log, toolSeconds } = this.#parts;
    const seconds = spec.timeoutSeconds ?? toolSeconds;
    const { stop: own, release } = stop.child();
    const limit = new Patience(seconds * 1000, time, this.#clock, () =>
      own.stop(new ClassedError('timeout', `${spec.name} did not finish within ${seconds} s.`)),
    );
    const call = { id: request.call, name: spec.name, arguments: argumentsOf(request.arguments) };
    const inspect = this.#inspection(subject);
    try {
      const running = host.call(call, {
        signal: own.signal,
        seed,
        ...(inspect === undefined ? {} : { inspect }),
        onLog: (stream, text) => prints.add(stream, text),
        onProgress: () => limit.renew(),
      });
      try {
        return await own.race(running);
      } catch (error) {
        // Waits for the tool, so that late effects belong to this call; unnecessary after a cancel.
        if (own.reason !== undefined && !log.closed) await settledWithin(running, GRACE_MS, time);
        throw error;
      }
    } finally {
      limit.end();
      inspect?.closed();
      subject.inspect?.(undefined);
      delete subject.inspect; // a retried call is not stepped into again
      release();
    }
  }

  /** Stops all clocks of the rollout while the code of a call is debugged. */
  #inspection({ inspect }: Subject<'tool'>): CallInspection | undefined {
    if (inspect === undefined) return undefined;
    const { watch, time } = this.#parts;
    let open = false;
    const set = (on: boolean): void => {
      if (open === on) return;
      open = on;
      watch.held(on);
      this.#clock.pause(on, time.monotonic());
    };
    return {
      opened: (url) => {
        set(true);
        inspect(url);
      },
      closed: () => set(false),
    };
  }

  /** Returns the answer of a person. Throws class `timeout` if nobody answers in time. */
  async #ask(subject: Subject<'tool'>): Promise<Json> {
    const answer = await this.#parts.gates.ask(subject);
    if (answer === undefined) throw new ClassedError('timeout', 'Nobody answered in time.');
    return answer;
  }

  #classed(thrown: unknown): ClassedError {
    const { stop } = this.#parts;
    if (stop.reason !== undefined && stop.reason.class !== 'infrastructure') return stop.reason;
    const error = ClassedError.from(thrown, 'tool_error');
    if (stop.reason !== undefined)
      return error === stop.reason ? new ClassedError('cancelled', 'It ended with the rollout.') : error;
    // Only the rollout can be cancelled or reach a limit; a tool that reports this has failed.
    return error.class === 'cancelled' || error.class === 'limit'
      ? new ClassedError('tool_error', error.message, { place: error.place, stack: error.userStack })
      : error;
  }

  #ended(
    request: EventData['tool.start'],
    result: ToolOutcome,
    timing: CallTiming,
    envelope?: Envelope,
  ): Outcome<'tool'> {
    const parts: Part[] = [
      { type: 'tool_call_response', id: request.call, response: result.response },
      ...(result.parts ?? []),
    ];
    const end: EventData['tool.end'] = {
      status: 'ok',
      ...timing,
      source: 'live',
      ...(result.cut === undefined ? {} : { cut: result.cut }),
    };
    const base = { message: { role: 'tool', parts, origin: 'tool', ...envelope } as const, changes: result.changes };
    if (result.full === undefined) return { ...base, end };
    const sha = this.#parts.sha256(result.full);
    const media = 'text/plain';
    const head = new TextDecoder().decode(result.full.subarray(0, HEAD)).slice(0, HEAD);
    return {
      ...base,
      end: { ...end, result: { $blob: sha, bytes: result.full.length, media, head } },
      blobs: [{ sha, bytes: result.full, media }],
      refs: new Set([sha]),
    };
  }
}

/** Duration of a call, with earlier tries. */
type CallTiming = Pick<EventData['tool.end'], 'ms' | 'retries'>;

/** Delegates to another agent, without a time limit: its calls and the rollout have their own. */
async function delegated(
  call: AgentCall,
  request: EventData['tool.start'],
  subject: Subject<'tool'>,
): Promise<ToolOutcome> {
  return { response: await call.make(argumentsOf(request.arguments), subject.span) };
}

/** The outcome of a call; without a value, it failed. */
interface CallOutcome {
  /** Set if another agent answers it. */
  readonly call?: AgentCall;
  value?: ToolOutcome;
}

/** A time limit that restarts with each progress report, using only one timer. */
class Patience {
  readonly #ms: number;
  readonly #time: Time;
  readonly #clock: Counter;
  readonly #over: () => void;
  #since: number;
  #cancel: () => void;

  constructor(ms: number, time: Time, clock: Counter, over: () => void) {
    this.#ms = ms;
    this.#time = time;
    this.#clock = clock;
    this.#over = over;
    this.#since = this.#now();
    this.#cancel = this.#arm(ms);
  }

  renew(): void {
    this.#since = this.#now();
  }

  end(): void {
    this.#cancel();
  }

  #now(): number {
    return this.#clock.value(this.#time.monotonic());
  }

  #arm(ms: number): () => void {
    return this.#time.timer(ms, () => {
      const left = this.#ms - (this.#now() - this.#since);
      if (left > 0) this.#cancel = this.#arm(Math.max(this.#clock.running ? 1 : STILL_MS, left));
      else this.#over();
    });
  }
}

function startOf(part: ToolCallPart, effect: ToolSpec['effect']): EventData['tool.start'] {
  const base = { call: part.id, name: part.name, effect };
  if (typeof part.arguments !== 'string') return { ...base, arguments: part.arguments };
  // A model may write nothing for a tool without arguments.
  return part.arguments.trim() === '' ? { ...base, arguments: {} } : { ...base, arguments: {}, raw: part.arguments };
}

function argumentsOf(value: Json): JsonObject {
  return isJsonObject(value) ? value : {};
}

function reasonOf(raw: string): string {
  try {
    JSON.parse(raw);
    return '';
  } catch (error) {
    return error instanceof Error ? ` (${error.message})` : '';
  }
}

/** Returns the end of a failed call and the response for the model, unless the rollout ends. */
function failed(
  request: EventData['tool.start'],
  error: ClassedError,
  timing: CallTiming,
  envelope?: Envelope,
): Outcome<'tool'> {
  const end: EventData['tool.end'] = { status: 'error', ...timing, source: 'live', error: error.toTrace() };
  if (error.class === 'infrastructure' || error.class === 'cancelled' || error.class === 'limit') return { end };
  const response = `Error (${error.class}): ${error.message}`;
  return {
    message: {
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: request.call, response }],
      origin: 'tool',
      ...envelope,
    },
    end,
  };
}

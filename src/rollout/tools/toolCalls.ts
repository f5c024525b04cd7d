import { deferred } from '../../common/abort.ts';
import { seedOf } from '../../common/hash.ts';
import type { Json } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { EventData } from '../../trace/schema.ts';
import { isUndone } from '../../trace/undone.ts';
import type { Act, ActRequest, EffectResult, Outcome } from '../act/act.ts';
import type { Flights } from '../act/flights.ts';
import { toolKey } from '../act/history.ts';
import { mayHaveRun } from '../act/takeover.ts';
import type { Edits } from '../gates/edits.ts';
import { editStart } from '../gates/edits.ts';
import type { Gates } from '../gates/gates.ts';
import type { Subject } from '../gates/subject.ts';
import type { WorldCall } from '../liveWorld.ts';
import type { Log } from '../log/log.ts';
import type { Sha256 } from '../log/messages.ts';
import type { Lookahead } from '../lookahead.ts';
import { Counter, type Stopwatch } from '../loop/limits.ts';
import type { SideModels } from '../loop/sideModel.ts';
import type { CallInspection, ToolOutcome, UntrustedWork } from '../ports.ts';
import type { Shadow } from '../shadow.ts';
import { type Stop, settledWithin } from '../stop.ts';
import { roundMs, type Time } from '../time.ts';
import { CallQuestions } from './callQuestions.ts';
import type { Controls } from './controls.ts';
import type { CallCounts } from './pendingCall.ts';
import { delayOf, type Fault, injectedError, type Perturbation } from './perturbation.ts';
import { moreAbout, ProgressTimeout } from './progressTimeout.ts';
import { checkedTool } from './requestCheck.ts';
import { type ToolRetries, withRetries } from './retries.ts';
import {
  argumentsOf,
  type CallTiming,
  cleanCut,
  failureOf,
  startOf,
  successOf,
  type ToolCallPart,
} from './toolEvents.ts';
import { ToolLog } from './toolLog.ts';
import { type AgentCall, delegate, isBound, type ToolEntry, type ToolSet } from './toolSet.ts';

/** Time for an interrupted tool to end before its call is closed anyway. */
const GRACE_MS = 1_000;
/** Time for the function of a rule to change a result. */
const RULE_MS = 10_000;

interface ToolCallerParts {
  readonly act: Act;
  readonly log: Log;
  readonly gates: Gates;
  readonly flights: Flights;
  readonly edits: Edits;
  readonly stop: Stop;
  readonly time: Time;
  readonly watch: Stopwatch;
  readonly sha256: Sha256;
  readonly untrusted: UntrustedWork;
  readonly sideModels: SideModels;
  readonly rolloutSeed: number;
  readonly toolSeconds: number;
  readonly counts: CallCounts;
  /** The rules by which faults are injected, if there are any. */
  readonly perturbation: Perturbation | undefined;
  /** Checks of what a world model was told, if there are any. */
  readonly controls: Controls | undefined;
  /** What predicts calls before they are made. */
  readonly shadow: Shadow | undefined;
  /** With which agents predict calls. */
  readonly lookahead: Lookahead | undefined;
  /**
   * Whether an earlier holder was lost, so that every call is stored before it is made, to detect calls that end
   * workers.
   */
  readonly careful: boolean;
  /** For a team member: seq of its `agent.start`. */
  readonly parent?: number | undefined;
}

/** A finished call. */
interface FinishedCall {
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
  async turn(calls: readonly ToolCallPart[], modelCall: number, step: number): Promise<FinishedCall[]> {
    const tool = calls.map((part) => this.#tools.find(part.name));
    const together = tool.filter((tool) => tool?.agent !== undefined).length;
    const outcomes = calls.map((part, index): CallOutcome => {
      const call = tool[index]?.agent?.prepare(part.id, together);
      return call === undefined ? {} : { call };
    });
    const requests = calls.map((part, index) =>
      this.#request(part, seedOf(this.#parts.rolloutSeed, this.#agent, modelCall, index), step, outcomes[index] ?? {}),
    );
    const settled = await Promise.allSettled(await this.#parts.act.all(requests));
    const finished = settled.map((result, index): FinishedCall => {
      if (result.status === 'rejected') throw result.reason;
      const part = calls[index];
      const { end } = result.value;
      if (part === undefined || end === undefined) throw new Error('every call has an end');
      return { part, arguments: this.#edited(result.value.span, part), done: { ...result.value, end } };
    });
    const errors = finished.flatMap(({ done }) => done.end.error ?? []);
    // Calls that ended because another one ended the rollout are `cancelled`.
    const fatal =
      errors.find((error) => error.class === 'infrastructure') ??
      errors.find((error) => error.class === 'limit' || error.class === 'cancelled');
    if (fatal !== undefined) throw new ClassedError(fatal.class, fatal.message, { limit: fatal.limit });
    return finished;
  }

  #edited(span: number, part: ToolCallPart): Json {
    let data: { arguments: Json } = { arguments: part.arguments };
    for (const { path, value } of this.#parts.edits.ofStart(span)) data = editStart('tool', data, path, value);
    return data.arguments;
  }

  #request(part: ToolCallPart, seed: number, step: number, outcome: CallOutcome): ActRequest<'tool'> {
    const tool = this.#tools.find(part.name);
    const effect = tool?.spec.effect ?? 'pure';
    const start = startOf(part, effect);
    const repeats = this.#parts.counts.count(this.#agent, start.name, start.arguments);
    const { world, queue = world?.queue } = tool ?? {};
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
      perform: (request, subject, lost) => this.#perform(request, subject, { seed, repeats, outcome, lost }),
      endless: call !== undefined || tool?.spec.asksPerson === true,
      onlyStored: effect === 'irreversible' || this.#parts.careful,
      ...(queue === undefined ? {} : { queue }),
      settled: (done) => {
        const { perturbation, controls, shadow, lookahead } = this.#parts;
        const request = { ...start, arguments: this.#edited(done.span, part) };
        perturbation?.ended(request, done);
        controls?.ended({ request, agent: this.#agent, step, repeats, done });
        if (call !== undefined)
          return done.recorded ? call.recalled(argumentsOf(request.arguments), done.span) : undefined;
        if (!done.recorded && isBound(tool) && mayHaveRun(done.end)) this.#parts.flights.bind();
        const restored = done.recorded
          ? world?.afterRecordedCall(worldCall(done.span), done)
          : world?.afterCall(worldCall(done.span), done, outcome.value);
        const ended = { request, span: done.span, agent: this.#agent, step, seed, repeats };
        const scored = shadow?.ended(ended, done, restored) ?? restored;
        return lookahead?.ended(ended, done, scored) ?? scored;
      },
    };
  }

  async #perform(
    request: EventData['tool.start'],
    subject: Subject<'tool'>,
    { seed, repeats, outcome, lost }: CallPlan,
  ): Promise<Outcome<'tool'>> {
    const { stop, time, log, untrusted } = this.#parts;
    const now = (): number => this.#clock.value(time.monotonic());
    let began = now();
    const output = new ToolLog(log, this.#agent, subject.span);
    const retries: ToolRetries = [];
    const timing = (): CallTiming => ({ ms: roundMs(now() - began), ...(retries.length === 0 ? {} : { retries }) });
    const world = this.#tools.find(request.name)?.world;
    /** The rule that has changed the call. */
    let injected: string | undefined;
    const questions = new CallQuestions({ sideModels: this.#parts.sideModels, stop, subject, lost, seed });
    /** How the last try failed, unless it is undone. */
    let failed: ClassedError | undefined;
    const undo = async (why: ClassedError | undefined): Promise<void> => {
      if (world === undefined || failed === undefined || why === undefined || !isUndone(why.class)) return;
      failed = undefined;
      await world.undo(request.name, (text) => output.add('err', text));
    };
    try {
      stop.check();
      const tool = await stop.race(checkedTool(this.#tools, request, untrusted, stop.signal));
      const { span, step } = subject;
      const call = { request, span, agent: this.#agent, step, seed, repeats };
      const isMade = outcome.call === undefined && tool.host !== undefined && tool.spec.asksPerson !== true;
      const fault = isMade ? this.#parts.perturbation?.choose(call) : undefined;
      const limit = tool.spec.timeoutSeconds ?? this.#parts.toolSeconds;
      const delay = fault === undefined ? undefined : delayOf(fault, limit);
      if (fault !== undefined && delay !== undefined) {
        if (delay > 0) await this.#retryPorts(output).wait(delay * 1000);
        injected = fault.rule.name;
        const error = injectedError(fault, limit);
        if (error !== undefined) {
          output.end();
          const { end, ...rest } = failureOf(request, error, timing());
          return { ...rest, ...(end === undefined ? {} : { end: { ...end, injected, made: false } }) };
        }
      }
      const { shadow } = this.#parts;
      if (isMade && shadow !== undefined && tool.world?.session.replays?.(request.call) !== 'refused') {
        const before = now();
        await shadow.predict(call, lost);
        stop.check();
        began += now() - before; // that is no time of the tool
      }
      const made = await withRetries(tool.spec, this.#retryPorts(output), retries, async () => {
        if (outcome.call !== undefined) return delegate(outcome.call, request, subject);
        await undo(failed);
        try {
          return await this.#make(tool, request, { subject, seed, questions }, output);
        } catch (thrown) {
          failed = this.#toClassed(thrown);
          throw thrown;
        }
      });
      const result = cleanCut(made, log);
      outcome.value = result;
      const seen = fault === undefined ? undefined : await this.#altered(fault, result);
      if (seen !== undefined) injected = fault?.rule.name;
      output.end();
      return successOf(this.#parts.sha256, request, result, timing(), {
        envelope: outcome.call?.envelope,
        injected,
        seen,
      });
    } catch (thrown) {
      const error = this.#toClassed(thrown);
      if (error.class === 'infrastructure' || error.fatal) stop.stop(error); // ends the attempt and its other calls
      const took = timing();
      await undo(error);
      output.end();
      const { end, ...rest } = failureOf(request, error, took, outcome.call?.envelope);
      if (rest.changes !== undefined) outcome.value = { changes: rest.changes };
      return { ...rest, ...(end === undefined ? {} : { end: injected === undefined ? end : { ...end, injected } }) };
    }
  }

  /** Returns what the agent sees instead of the result of a call. Ends the rollout if the function of a rule fails. */
  async #altered(fault: Fault, result: ToolOutcome): Promise<ToolOutcome | undefined> {
    const { perturbation, stop, time } = this.#parts;
    const { stop: ruleStop, release } = stop.child();
    const cancel = time.timer(RULE_MS, () =>
      ruleStop.stop(new ClassedError('timeout', `it did not return within ${RULE_MS / 1000} s.`)),
    );
    try {
      return await ruleStop.race(Promise.resolve(perturbation?.alter(fault, result, ruleStop.signal)));
    } catch (thrown) {
      const error = ClassedError.from(thrown, 'world_error');
      if (stop.reason === undefined && error.class !== 'infrastructure')
        stop.stop(new ClassedError('world_error', `The rule ${fault.rule.name} failed: ${error.message}`));
      throw stop.reason ?? error;
    } finally {
      cancel();
      release();
    }
  }

  #retryPorts(output: ToolLog): Parameters<typeof withRetries>[1] {
    const { stop, time, log } = this.#parts;
    return {
      now: () => log.now(),
      monotonic: () => this.#clock.value(time.monotonic()),
      classed: (thrown) => this.#toClassed(thrown),
      log: (text) => output.add('err', text),
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

  async #make(
    { spec, host }: ToolEntry,
    request: EventData['tool.start'],
    { subject, seed, questions }: { subject: Subject<'tool'>; seed: number; questions: CallQuestions },
    output: ToolLog,
  ): Promise<ToolOutcome> {
    if (spec.asksPerson === true) return { response: await this.#askPerson(subject) };
    if (host === undefined) return { response: 'The answer was submitted.' };
    const { stop, time, log, toolSeconds } = this.#parts;
    const seconds = spec.timeoutSeconds ?? toolSeconds;
    const { stop: callStop, release } = stop.child();
    const limit = new ProgressTimeout(seconds * 1000, time, this.#clock, () =>
      callStop.stop(new ClassedError('timeout', `${spec.name} did not finish within ${seconds} s.`)),
    );
    const call = { id: request.call, name: spec.name, arguments: argumentsOf(request.arguments) };
    const inspect = this.#inspection(subject);
    questions.begin(callStop, limit);
    try {
      const running = host.call(call, {
        signal: callStop.signal,
        seed,
        ask: (question) => questions.ask(question),
        onAgain: () => questions.again(),
        ...(inspect === undefined ? {} : { inspect }),
        onLog: (stream, text) => output.add(stream, text),
        onProgress: () => limit.renew(),
      });
      try {
        return await callStop.race(running);
      } catch (error) {
        // Waits for the tool, so that late effects belong to this call; unnecessary after a cancel.
        if (callStop.reason !== undefined && !log.closed && (await settledWithin(running, GRACE_MS, time)))
          throw await moreAbout(callStop.reason, running);
        throw error;
      }
    } finally {
      limit.end();
      await questions.end();
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
      watch.setHeld(on);
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
  async #askPerson(subject: Subject<'tool'>): Promise<Json> {
    const answer = await this.#parts.gates.ask(subject);
    if (answer === undefined) throw new ClassedError('timeout', 'Nobody answered in time.');
    return answer;
  }

  #toClassed(thrown: unknown): ClassedError {
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
}

interface CallPlan {
  readonly seed: number;
  /** Number of equal earlier calls of the agent. */
  readonly repeats: number;
  readonly outcome: CallOutcome;
  /** seq of the lost call that it makes again. */
  readonly lost: number | undefined;
}

/** The outcome of a call; without a value, it failed without changes. */
interface CallOutcome {
  /** Set if another agent answers it. */
  readonly call?: AgentCall;
  value?: Pick<ToolOutcome, 'changes'>;
}

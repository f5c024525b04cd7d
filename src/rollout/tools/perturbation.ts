/**
 * Faults by rule. Which rule applies to a call follows from the call and its seed, so a resumed rollout decides as the
 * lost one did, and so does the same attempt of another batch.
 */
import { seedOf } from '../../common/hash.ts';
import { canonicalJson, isSameJson, type Json, type JsonObject } from '../../common/json.ts';
import { type FaultRule, isFaultRule, type SubmittedRule } from '../../config/submission/rule.ts';
import { ClassedError } from '../../trace/classedError.ts';
import { compileCondition, type Query } from '../../trace/query.ts';
import type { EventData } from '../../trace/schema.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { isBlobRef } from '../../trace/values/keys.ts';
import type { EffectResult } from '../act/act.ts';
import { faultOf } from '../faults.ts';
import type { ToolOutcome } from '../ports.ts';
import { alteredResult } from './alteredResult.ts';
import { type PendingCall, pendingEnvironment } from './pendingCall.ts';

/** A rule with a function of the user. */
export type FunctionRule = Extract<SubmittedRule, { effect: 'function' }>;

/** The rule that applies to a call, and what it needs to know of the call. */
export interface Fault {
  readonly rule: FaultRule;
  readonly call: PendingCall;
}

interface PerturbationParts {
  readonly rules: readonly SubmittedRule[];
  readonly task: TaskRecord;
  readonly attempt: number;
  /** Calls the function of a rule where modules run. Rejects with ClassedError, or StudioError for its files. */
  readonly callFunction: (rule: FunctionRule, input: JsonObject, signal: AbortSignal) => Promise<Json>;
}

const RANGE = 2 ** 32;
/** Rollouts of a batch share their rules. */
const conditions = new WeakMap<FaultRule, Query>();

/** The rules of one rollout. */
export class Perturbation {
  readonly #parts: PerturbationParts;
  readonly #rules: readonly FaultRule[];
  /** Whether results are kept for later calls. */
  readonly #remembers: boolean;
  /** Real results, by tool and arguments. */
  readonly #results = new Map<string, Json>();

  private constructor(parts: PerturbationParts) {
    this.#parts = parts;
    this.#rules = parts.rules.filter(isFaultRule);
    this.#remembers = this.#rules.some(({ effect }) => effect === 'stale' || effect === 'function');
  }

  /** Returns undefined without rules. */
  static of(parts: PerturbationParts): Perturbation | undefined {
    return parts.rules.length === 0 ? undefined : new Perturbation(parts);
  }

  /** Returns the first rule that matches a call. */
  choose(call: PendingCall): Fault | undefined {
    const { task, attempt } = this.#parts;
    let environment: ReturnType<typeof pendingEnvironment> | undefined;
    for (const rule of this.#rules) {
      if (rule.when !== undefined) {
        environment ??= pendingEnvironment(call, task, attempt);
        if (!conditionOf(rule, rule.when).matches(environment).matched) continue;
      }
      if (rule.p >= 1 || seedOf(call.seed, rule.name) / RANGE < rule.p) return { rule, call };
    }
    return undefined;
  }

  /** Returns what the agent sees instead of the result; undefined if the rule leaves it as it is. */
  async alter({ rule, call }: Fault, outcome: ToolOutcome, signal: AbortSignal): Promise<ToolOutcome | undefined> {
    if (rule.effect === 'error' || rule.effect === 'timeout' || rule.effect === 'delay') return undefined;
    const previous = this.#results.get(resultKey(call.request));
    let draws = 0;
    const random = (): number => seedOf(call.seed, rule.name, ++draws) / RANGE;
    const response =
      rule.effect === 'function'
        ? await this.#answer(rule, call, outcome.response, previous, signal)
        : alteredResult(rule, outcome.response, previous, random);
    const replaces = rule.effect === 'empty' || (rule.effect === 'text' && rule.args.place === 'replace');
    const { parts = [], ...rest } = outcome;
    if (isSameJson(response, outcome.response) && !(replaces && parts.length > 0)) return undefined;
    return { ...rest, response, ...(replaces || parts.length === 0 ? {} : { parts }) };
  }

  /** Keeps the real result of a call that has ended. */
  ended(request: Pick<EventData['tool.start'], 'name' | 'arguments'>, { end, message }: EffectResult<'tool'>): void {
    if (!this.#remembers || end?.status !== 'ok' || end.source === 'edited') return;
    const part = message?.parts.find(({ type }) => type === 'tool_call_response');
    const seen = message?.origin === 'edited' || part?.type !== 'tool_call_response' ? undefined : part.response;
    const real = end.injected === undefined ? seen : (end.result ?? seen);
    // A reference: the tool's whole output, of which the result is a part.
    if (real !== undefined && !(end.cut !== undefined && isBlobRef(real))) this.#results.set(resultKey(request), real);
  }

  /** Asks the function of a rule. Rejects with ClassedError. */
  async #answer(
    rule: FunctionRule,
    { request, seed, agent, step, repeats }: PendingCall,
    result: Json,
    previous: Json | undefined,
    signal: AbortSignal,
  ): Promise<Json> {
    const { task, attempt, callFunction } = this.#parts;
    const input: JsonObject = {
      tool: { name: request.name, arguments: request.arguments, repeats },
      result,
      previous: previous ?? null,
      seed: seedOf(seed, rule.name),
      args: rule.args ?? {},
      step,
      agent,
      attempt,
      task: task as unknown as JsonObject, // a record of JSON
    };
    try {
      return await callFunction(rule, input, signal);
    } catch (thrown) {
      throw faultOf(thrown, 'world_error', 'infrastructure');
    }
  }
}

/** Returns how long a call is delayed, in seconds; undefined if its rule only changes the result. */
export function delayOf({ rule }: Fault, toolSeconds: number): number | undefined {
  if (rule.effect !== 'error' && rule.effect !== 'timeout' && rule.effect !== 'delay') return undefined;
  const { wait_seconds: seconds } = rule.args;
  return seconds === 'limit' ? toolSeconds : seconds;
}

/** Returns the error of a call that is never made; undefined if it is. */
export function injectedError({ rule, call }: Fault, toolSeconds: number): ClassedError | undefined {
  if (rule.effect === 'error') return new ClassedError(rule.args.class, rule.args.message);
  if (rule.effect !== 'timeout') return undefined;
  const { wait_seconds: wait } = rule.args;
  const seconds = wait === 'limit' || wait === 0 ? toolSeconds : wait;
  return new ClassedError('timeout', `${call.request.name} did not finish within ${seconds} s.`);
}

function conditionOf(rule: FaultRule, when: string): Query {
  let query = conditions.get(rule);
  if (query === undefined) conditions.set(rule, (query = compileCondition(when)));
  return query;
}

function resultKey({ name, arguments: args }: Pick<EventData['tool.start'], 'name' | 'arguments'>): string {
  return canonicalJson([name, args]);
}

/**
 * What agents did after the faults that rules injected into their calls. Defined here once, for reports, pages, and
 * the end of a rollout.
 *
 * - recovered: a later call of the same tool for the same thing succeeded without injection, or the call was only
 *   delayed and succeeded. For the same thing: every argument that both calls have is equal, and they share one unless
 *   one of them has none.
 * - worked around: not recovered, but the attempt passed.
 * - repeated: neither, although the tool was called for the same thing again.
 * - gave up: none of these.
 * - open: not recovered, and the rollout has not ended.
 */
import { isJsonObject, isSameJson, type Json } from '../common/json.ts';
import type { TrajectoryModel } from './model.ts';
import type { FaultCounts } from './schema/faults.ts';
import type { EventOf, TraceEvent } from './schema.ts';

export const RECOVERIES = ['recovered', 'worked_around', 'repeated', 'gave_up', 'open'] as const;
export type Recovery = (typeof RECOVERIES)[number];

export const RECOVERY_NAMES: Readonly<Record<Recovery, string>> = {
  recovered: 'recovered',
  worked_around: 'worked around',
  repeated: 'repeated in vain',
  gave_up: 'gave up',
  open: 'open',
};

/** Fields of counts that are recoveries. */
type Counted = Exclude<Recovery, 'open'>;

/** A call that a rule changed. */
export interface InjectedCall {
  /** seq of its start. */
  readonly seq: number;
  readonly rule: string;
  readonly tool: string;
  /** seq of the start of the call that recovered it: its own if it was only delayed. */
  readonly recoveredBy: number | undefined;
  /** Whether the tool was called for the same thing again. */
  readonly isRepeated: boolean;
}

interface Pending {
  readonly seq: number;
  readonly endSeq: number;
  readonly rule: string;
  readonly tool: string;
  readonly args: Json;
  recoveredBy: number | undefined;
  isRepeated: boolean;
}

/** Follows the calls of a rollout. */
export class InjectedCalls {
  readonly #open = new Map<number, { readonly start: EventOf<'tool.start'>; readonly requested: number }>();
  /** seq of the newest reply of a model, by agent. */
  readonly #replies = new Map<string, number>();
  readonly #calls: Pending[] = [];

  /** Adds an event; events must be added in their order. */
  add(event: TraceEvent): void {
    if (event.kind === 'model.end') this.#replies.set(event.agent ?? '', event.seq);
    else if (event.kind === 'tool.start')
      this.#open.set(event.seq, { start: event, requested: this.#replies.get(event.agent ?? '') ?? 0 });
    else if (event.kind === 'tool.end' && event.span !== undefined) this.#end(event, event.span);
  }

  get calls(): readonly InjectedCall[] {
    return this.#calls;
  }

  /** Counts by rule, of a rollout that has ended. */
  counts(passed: boolean | null): Record<string, FaultCounts> {
    const byRule: Record<string, FaultCounts> = {};
    for (const call of this.#calls) {
      const counts = (byRule[call.rule] ??= { ...NO_FAULTS });
      counts.injected += 1;
      counts[recoveryOf(call, passed)] += 1;
    }
    return byRule;
  }

  #end({ seq: endSeq, data }: EventOf<'tool.end'>, span: number): void {
    const call = this.#open.get(span);
    if (call === undefined) return;
    this.#open.delete(span);
    // Lost with its worker, or open at the cut of a fork: the call is repeated.
    if (data.status === 'cut' || data.error?.class === 'infrastructure') return;
    const { start, requested } = call;
    const { name: tool, arguments: args } = start.data;
    const isDelayed = data.injected !== undefined && data.made !== false && data.result === undefined;
    const hasSucceeded = data.status === 'ok' && data.source !== 'edited' && data.injected === undefined;
    for (const earlier of this.#calls) {
      // A call of the same step is no reaction, even if it began later because its worker was lost.
      if (earlier.recoveredBy !== undefined || earlier.endSeq > requested) continue;
      if (earlier.tool !== tool || !isSameThing(earlier.args, args)) continue;
      earlier.isRepeated = true;
      if (hasSucceeded) earlier.recoveredBy = span;
    }
    if (data.injected === undefined) return;
    this.#calls.push({
      seq: span,
      endSeq,
      rule: data.injected,
      tool,
      args,
      recoveredBy: isDelayed && data.status === 'ok' ? span : undefined,
      isRepeated: false,
    });
  }
}

const followed = new WeakMap<TrajectoryModel, { readonly calls: InjectedCalls; added: number }>();

/** Returns the injected calls of a trajectory so far, from an index that grows with the model. */
export function injectedCallsOf(model: TrajectoryModel): readonly InjectedCall[] {
  let index = followed.get(model);
  if (index === undefined) followed.set(model, (index = { calls: new InjectedCalls(), added: 0 }));
  for (; index.added < model.last; index.added++) {
    const event = model.event(index.added + 1);
    if (event !== undefined && !('unknown' in event)) index.calls.add(event);
  }
  return index.calls.calls;
}

export const NO_FAULTS: FaultCounts = { injected: 0, recovered: 0, worked_around: 0, repeated: 0, gave_up: 0 };

/** Returns what became of a call in a rollout that has ended. */
export function recoveryOf(call: Pick<InjectedCall, 'recoveredBy' | 'isRepeated'>, passed: boolean | null): Counted {
  if (call.recoveredBy !== undefined) return 'recovered';
  if (passed === true) return 'worked_around';
  return call.isRepeated ? 'repeated' : 'gave_up';
}

function isSameThing(a: Json, b: Json): boolean {
  if (!isJsonObject(a) || !isJsonObject(b)) return isSameJson(a, b);
  const [keys, others] = [Object.keys(a), Object.keys(b)];
  const shared = keys.filter((key) => Object.hasOwn(b, key));
  if (shared.length === 0) return keys.length === 0 || others.length === 0;
  return shared.every((key) => isSameJson(a[key] ?? null, b[key] ?? null));
}

/** Returns the injected calls that are still open. */
export function openOf({ injected, recovered, worked_around: around, repeated, gave_up: gaveUp }: FaultCounts): number {
  return injected - recovered - around - repeated - gaveUp;
}

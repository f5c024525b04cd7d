/** Finds the differences between two values. */
import { isJsonObject, isSameJson, type Json } from '../../common/json.ts';
import { isBlobRef } from '../values/keys.ts';
import type { Action, ActionCall } from './actions.ts';

export interface Difference {
  /** JSON pointer (RFC 6901); '' for the whole value. */
  readonly path: string;
  /** Absent if there is no value at this path. */
  readonly before?: Json;
  readonly after?: Json;
}

/** Maximum number of individual differences. Beyond it, the whole value is reported as one difference. */
const MAX_DIFFERENCES = 100;

/** Returns the differences in order of their paths; empty if the values are equal. */
export function differencesOf(before: Json | undefined, after: Json | undefined): Difference[] {
  const differences: Difference[] = [];
  walk(before, after, '', differences);
  return differences.length <= MAX_DIFFERENCES ? differences : [difference('', before, after)];
}

function walk(before: Json | undefined, after: Json | undefined, path: string, found: Difference[]): void {
  if (found.length > MAX_DIFFERENCES || before === after) return;
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let index = 0; index < Math.max(before.length, after.length); index++)
      walk(before[index], after[index], `${path}/${index}`, found);
    return;
  }
  if (isJsonObject(before) && isJsonObject(after) && !isBlobRef(before) && !isBlobRef(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      walk(own(before, key), own(after, key), `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, found);
    }
    return;
  }
  if (before !== undefined && after !== undefined && isSameJson(before, after)) return;
  found.push(difference(path, before, after));
}

function own(value: { readonly [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function difference(path: string, before: Json | undefined, after: Json | undefined): Difference {
  return { path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) };
}

interface CallDifferences {
  /** Index of the call in the action. */
  readonly call: number;
  readonly name: string;
  readonly arguments: readonly Difference[];
  readonly result: readonly Difference[];
}

/** Returns the differences between the calls of two actions with the same tools: in arguments and results. */
export function callDifferences(base: Action, other: Action): CallDifferences[] {
  if (base.shape !== other.shape) return [];
  return other.calls.flatMap((call, index): CallDifferences[] => {
    const before = base.calls[index];
    if (before === undefined) return [];
    const differences = {
      call: index,
      name: call.name,
      arguments: differencesOf(before.arguments, call.arguments),
      result: differencesOf(before.result, call.result),
    };
    return differences.arguments.length + differences.result.length === 0 ? [] : [differences];
  });
}

/** Returns whether the calls of two actions with the same tools have the same results. */
export function sameResults(a: Action, b: Action): boolean {
  return a.calls.every((call, index) => sameResult(call, b.calls[index]));
}

function sameResult(a: ActionCall, b: ActionCall | undefined): boolean {
  if (a.result === undefined || b?.result === undefined) return a.result === b?.result;
  return isSameJson(a.result, b.result);
}

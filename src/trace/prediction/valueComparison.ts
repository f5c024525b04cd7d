import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { Comparison } from './comparison.ts';

/** Compares two values by their keys and items. */
export function compareValues(comparison: Comparison, predicted: Json, real: Json): void {
  walk(comparison, '', '', predicted, real);
}

function walk(comparison: Comparison, path: string, key: string, predicted: Json, real: Json): void {
  if (Array.isArray(predicted) && Array.isArray(real)) {
    for (const { at, one, other } of aligned(predicted, real)) both(comparison, `${path}/${at}`, key, one, other);
  } else if (isJsonObject(predicted) && isJsonObject(real)) {
    for (const [name, member] of Object.entries(real))
      both(comparison, inside(path, name), name, own(predicted, name), member);
    for (const [name, member] of Object.entries(predicted))
      if (!Object.hasOwn(real, name)) both(comparison, inside(path, name), name, member, undefined);
  } else if (typeof real === 'object' && real !== null) {
    comparison.note({ path, class: 'format', predicted, real }, 'differs');
    count(comparison, key, real, true);
    if (typeof predicted === 'object' && predicted !== null) count(comparison, key, predicted, false);
  } else if (typeof predicted === 'object' && predicted !== null) {
    comparison.note({ path, class: 'format', predicted, real }, 'differs');
    count(comparison, key, predicted, false);
    comparison.missing(key, real);
  } else comparison.value(path, key, predicted, real);
}

/** Compares what is at one key. */
function both(
  comparison: Comparison,
  path: string,
  key: string,
  predicted: Json | undefined,
  real: Json | undefined,
): void {
  if (predicted !== undefined && real !== undefined) {
    comparison.keys(1, 1);
    walk(comparison, path, key, predicted, real);
    return;
  }
  comparison.keys(1, 0);
  if (real !== undefined) {
    comparison.note({ path, class: 'keys', real }, 'missing');
    count(comparison, key, real, true);
  } else if (predicted !== undefined) {
    comparison.note({ path, class: 'keys', predicted }, 'additional');
    count(comparison, key, predicted, false);
  }
}

/** Counts the keys, and if it is the real one, the values of something that the other response does not have. */
function count(comparison: Comparison, key: string, value: Json, isReal: boolean): void {
  if (typeof value === 'object' && value !== null) {
    const isList = Array.isArray(value);
    for (const [name, member] of Object.entries(value)) {
      comparison.keys(1, 0);
      count(comparison, isList ? key : name, member, isReal);
    }
  } else if (isReal) comparison.missing(key, value);
}

interface Pair {
  readonly at: number;
  readonly one: Json | undefined;
  readonly other: Json | undefined;
}

/** Pairs the items of two lists: by the key that identifies them, by value, and the rest by position. */
function aligned(predicted: readonly Json[], real: readonly Json[]): Pair[] {
  const identity = identityOf(predicted, real);
  const byIdentity = new Map<string, number[]>();
  for (let index = predicted.length - 1; index >= 0; index--) {
    const id = identity(predicted[index]);
    if (id !== undefined) byIdentity.set(id, [...(byIdentity.get(id) ?? []), index].slice(-MAX_EQUAL));
  }
  const taken = new Set<number>();
  const partners = real.map((item) => {
    const id = identity(item);
    const index = id === undefined ? undefined : byIdentity.get(id)?.pop();
    if (index !== undefined) taken.add(index);
    return index;
  });
  const free = [...predicted.keys()].filter((index) => !taken.has(index));
  let used = 0;
  const pairs = real.map((other, at): Pair => {
    const index = partners[at] ?? free[used++];
    return { at, one: index === undefined ? undefined : predicted[index], other };
  });
  for (const index of free.slice(used)) pairs.push({ at: index, one: predicted[index], other: undefined });
  return pairs;
}

/** Equal items of a list that are told apart by position. */
const MAX_EQUAL = 64;

/** Keys that identify a record, the best ones first. */
const IDENTIFYING = /^(?:id|_id|uuid|key|slug|url|uri|path|name|title|email)$|(?:_id|Id|_key|_name)$/;

/** Returns how to recognize an item of both lists. */
function identityOf(predicted: readonly Json[], real: readonly Json[]): (item: Json | undefined) => string | undefined {
  const first = real[0];
  const key = isJsonObject(first)
    ? Object.keys(first)
        .filter((name) => IDENTIFYING.test(name))
        .sort((a, b) => rank(a) - rank(b))
        .find((name) => isUnique(predicted, name) && isUnique(real, name) && overlaps(predicted, real, name))
    : undefined;
  return (item) => {
    if (isJsonObject(item)) return key === undefined ? undefined : scalarText(item[key]);
    return scalarText(item);
  };
}

const RANKS = ['id', '_id', 'uuid', 'key', 'slug', 'url', 'uri', 'path', 'email', 'name', 'title'];

function rank(key: string): number {
  const at = RANKS.indexOf(key);
  return at < 0 ? 3.5 : at;
}

function isUnique(items: readonly Json[], key: string): boolean {
  const ids = new Set(items.map((item) => (isJsonObject(item) ? scalarText(item[key]) : undefined)));
  return ids.size === items.length && !ids.has(undefined);
}

function overlaps(predicted: readonly Json[], real: readonly Json[], key: string): boolean {
  const ids = new Set(predicted.map((item) => (isJsonObject(item) ? scalarText(item[key]) : undefined)));
  return real.some((item) => isJsonObject(item) && ids.has(scalarText(item[key])));
}

function scalarText(value: Json | undefined): string | undefined {
  return value === undefined || typeof value === 'object' ? undefined : JSON.stringify(value);
}

function own(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function inside(path: string, key: string): string {
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

import { canonicalJson, isJsonObject, type Json } from '../common/json.ts';
import { shortened } from '../common/text.ts';
import type { Scorer } from '../rollout/ports.ts';
import { NO_ANSWER, NO_EXPECTATION, verdict } from './expected.ts';
import { jsonInText } from './jsonInText.ts';

/**
 * Passes if the answer equals the expected value as JSON: keys in any order, numbers by value, nothing missing and
 * nothing extra. With `ignore_order`, the order of lists does not matter. `jsonInText` finds the JSON in a text answer.
 * An expected text that contains a JSON list or object (a CSV cell) stands for that value.
 */
export function jsonScorer(options: { readonly ignore_order: boolean }): Scorer {
  const arrange = options.ignore_order ? sorted : (value: Json): Json => value;
  return {
    name: 'json',
    score({ task, answer }) {
      if (task.answer === undefined) return Promise.resolve(NO_EXPECTATION);
      if (answer === null) return Promise.resolve(NO_ANSWER);
      const expected = structureIn(task.answer);
      const actual = typeof answer === 'string' && typeof expected !== 'string' ? jsonInText(answer) : answer;
      if (actual === undefined) return Promise.resolve(verdict(false, 'The answer contains no JSON.'));
      const place = difference(arrange(actual), arrange(expected), '');
      return Promise.resolve(place === null ? verdict(true) : verdict(false, place));
    },
  };
}

function structureIn(expected: Json): Json {
  if (typeof expected !== 'string' || !/^\s*[[{]/.test(expected)) return expected;
  return jsonInText(expected) ?? expected;
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) {
    return value
      .map(sorted)
      .map((item) => ({ item, text: canonicalJson(item) }))
      .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
      .map(({ item }) => item);
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, sorted(member)]));
}

/** Describes the first difference between two values, with a JSON pointer; null if they are equal. */
function difference(actual: Json, expected: Json, at: string): string | null {
  const place = at === '' ? 'The answer' : at;
  if (Array.isArray(actual) && Array.isArray(expected)) {
    if (actual.length !== expected.length)
      return `${place} has ${actual.length} elements instead of ${expected.length}.`;
    return firstOf(actual, (item, i) => difference(item, expected[i] ?? null, `${at}/${i}`));
  }
  if (isJsonObject(actual) && isJsonObject(expected)) {
    const missing = Object.keys(expected).find((key) => !Object.hasOwn(actual, key));
    if (missing !== undefined) return `${place} is missing ${JSON.stringify(missing)}.`;
    const extra = Object.keys(actual).find((key) => !Object.hasOwn(expected, key));
    if (extra !== undefined) return `${place} has the unexpected key ${JSON.stringify(extra)}.`;
    return firstOf(Object.keys(actual), (key) =>
      difference(actual[key] ?? null, expected[key] ?? null, `${at}/${key.replace(/~/g, '~0').replace(/\//g, '~1')}`),
    );
  }
  return actual === expected ? null : `${place} is ${short(actual)} instead of ${short(expected)}.`;
}

function firstOf<T>(items: readonly T[], find: (item: T, i: number) => string | null): string | null {
  for (const [i, item] of items.entries()) {
    const difference = find(item, i);
    if (difference !== null) return difference;
  }
  return null;
}

function short(value: Json): string {
  return shortened(JSON.stringify(value), 80);
}

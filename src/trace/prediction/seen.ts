/**
 * Tells apart what a world had to predict exactly from what it could not know: a value that occurred before is
 * deterministic, a time or an ID is made at run time, and any other was in the environment before the rollout.
 */
import { isJsonObject, type Json } from '../../common/json.ts';

/**
 * - deterministic: computed from what was seen before, so it must be equal.
 * - existing: data of the environment that was seen nowhere before, so a plausible form is all that can be expected.
 * - runtime: times, durations, and IDs, which must have the right format and size.
 */
export const VALUE_CLASSES = ['deterministic', 'existing', 'runtime'] as const;
export type ValueClass = (typeof VALUE_CLASSES)[number];

type Scalar = string | number | boolean | null;

/** Beyond this many values and characters, later ones are not remembered: memory must not grow with a rollout. */
const MAX_VALUES = 200_000;
const MAX_CHARS = 200_000;
/** Shorter words and numbers occur everywhere. */
const MIN_WORD = 3;

/** The values of the calls so far: their arguments and responses. */
export class SeenValues {
  /** Texts and numbers anywhere, and the words in them. */
  readonly #values = new Set<string>();
  /** Values with their keys, for numbers and booleans, which say nothing alone. */
  readonly #members = new Set<string>();

  /** Adds the arguments of a call: each of its values is seen, even a number. */
  addArguments(value: Json): void {
    this.#add(value, '', true);
  }

  /** Adds a response that an agent got. */
  addResponse(value: Json): void {
    this.#add(jsonIn(value), '', false);
  }

  /** Returns the class of a value of a response, under its key. */
  classOf(key: string, value: Scalar): ValueClass {
    if (this.#has(key, value)) return 'deterministic';
    return runtimeForm(key, value) === undefined ? 'existing' : 'runtime';
  }

  /** Returns the class of a word of a text. */
  classOfWord(word: string): ValueClass {
    if (word.length >= MIN_WORD && /\d|[A-Z_@/]/.test(word.slice(1)) && this.#values.has(word)) return 'deterministic';
    return runtimeForm('', word) === undefined ? 'existing' : 'runtime';
  }

  #has(key: string, value: Scalar): boolean {
    if (typeof value === 'string' && value.length >= MIN_WORD && this.#values.has(value)) return true;
    if (typeof value === 'number' && this.#members.has(`=${value}`)) return true;
    return this.#members.has(`${key}=${String(value)}`);
  }

  #add(value: Json, key: string, isArgument: boolean): void {
    if (this.#values.size > MAX_VALUES || this.#members.size > MAX_VALUES) return;
    if (Array.isArray(value)) for (const item of value) this.#add(item, key, isArgument);
    else if (isJsonObject(value))
      for (const [name, member] of Object.entries(value)) this.#add(member, name, isArgument);
    else {
      if (typeof value === 'string') {
        this.#values.add(value.length > MAX_CHARS ? value.slice(0, MAX_CHARS) : value);
        for (const word of wordsOf(value.slice(0, MAX_CHARS))) if (word.length >= MIN_WORD) this.#values.add(word);
      }
      if (typeof value !== 'string' || value.length < 100) this.#members.add(`${key}=${String(value)}`);
      if (isArgument && typeof value === 'number') this.#members.add(`=${value}`);
    }
  }
}

/** Returns the words of a text, without the punctuation around them. */
export function wordsOf(text: string): string[] {
  return text.match(/[\p{L}\p{N}_@](?:[^\s"'<>()[\]{},;|]*[\p{L}\p{N}_])?/gu) ?? [];
}

/** Returns the value of a response that is JSON as text; otherwise the response. */
export function jsonIn(response: Json): Json {
  if (typeof response !== 'string') return response;
  const text = response.trim();
  const fenced = /^```(?:json)?\n([\s\S]*)\n```$/.exec(text)?.[1]?.trim() ?? text;
  if (!/^[[{]/.test(fenced)) return response;
  try {
    return JSON.parse(fenced) as Json;
  } catch {
    return response;
  }
}

const RUNTIME_NAMES =
  'pid|port|ms|millis|duration|elapsed|took|latency|uptime|seconds|timestamp|time|epoch|nonce|etag|hash|sha\\d*|token';
const RUNTIME_KEY = new RegExp(`(?:^|_)(?:${RUNTIME_NAMES})$|(?:_at|At)$`);
const RUNTIME_FORMS: readonly (readonly [form: string, pattern: RegExp])[] = [
  ['time', /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?$/],
  ['clock', /^\d{1,2}:\d\d:\d\d(?:[.,]\d+)?$/],
  ['uuid', /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i],
  ['hash', /^(?:sha\d+[:-])?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{12,128}$/i],
  ['duration', /^\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|seconds)$/],
  ['address', /^(?:\d{1,3}(?:\.\d{1,3}){3}|localhost):\d{2,5}$/],
];

/** Returns the form of a value that is made at run time; undefined for others. */
export function runtimeForm(key: string, value: Scalar): string | undefined {
  if (typeof value === 'string') return RUNTIME_FORMS.find(([, pattern]) => pattern.test(value))?.[0];
  if (typeof value !== 'number') return undefined;
  if (Number.isInteger(value) && ((value > 1e9 && value < 4.2e9) || (value > 1e12 && value < 4.2e12))) return 'epoch';
  return RUNTIME_KEY.test(key) ? 'number' : undefined;
}

/** Times of a simulation may be those of another year, but not of another age. */
const MAX_APART_MS = 366 * 24 * 3600 * 1000;
/** How many times larger a number made at run time may be. */
const MAX_RATIO = 10;

/** Returns whether a predicted value has the format and the size of one that was made at run time. */
export function isPlausibleRuntime(key: string, predicted: Json, real: Scalar): boolean {
  if (typeof predicted !== typeof real || (typeof predicted !== 'string' && typeof predicted !== 'number'))
    return false;
  const form = runtimeForm(key, real);
  if (runtimeForm(key, predicted) !== form) return false;
  if (form === 'time') return Math.abs(Date.parse(String(predicted)) - Date.parse(String(real))) <= MAX_APART_MS;
  if (form === 'epoch' || form === 'number' || form === 'duration')
    return isSimilar(Number.parseFloat(String(predicted)), Number.parseFloat(String(real)));
  return form !== 'hash' || String(predicted).length === String(real).length;
}

function isSimilar(a: number, b: number): boolean {
  if (a === b) return true;
  const [small, large] = [Math.min(Math.abs(a), Math.abs(b)), Math.max(Math.abs(a), Math.abs(b))];
  return Math.sign(a) * Math.sign(b) >= 0 && large <= Math.max(small, 1) * MAX_RATIO;
}

/** Returns whether a predicted value has the form of one that was in the environment before. */
export function isPlausibleExisting(predicted: Json, real: Scalar): boolean {
  if (typeof predicted === 'string' && typeof real === 'string') return formOf(predicted) === formOf(real);
  if (typeof predicted === 'number' && typeof real === 'number')
    return Number.isInteger(predicted) || !Number.isInteger(real);
  return predicted === null ? real === null : typeof predicted === typeof real;
}

/** Longer texts are prose. */
const MAX_WORD = 60;

/** Returns the form of a text: how an ID, a date, or an address is written, or that it is a word or prose. */
function formOf(text: string): string {
  if (text === '') return '';
  if (/^[a-z][\w+.-]*:\/\//i.test(text)) return 'address';
  if (text.length > MAX_WORD || /\s/.test(text)) return 'prose';
  if (/^[^\s@]+@[^\s@]+\.\w+$/.test(text)) return 'email';
  if (!/\d/.test(text)) return /^[\p{L}_-]+$/u.test(text) ? 'word' : 'sign';
  return text.replaceAll(/\p{L}+/gu, 'a').replaceAll(/\d+/g, '9');
}

/** Generates fragments of TypeScript. */

import { isJsonObject, type Json } from '../../common/json.ts';
import { RESERVED_WORDS } from '../../common/reservedWords.ts';

/** Returns a string literal in single quotes. */
export function quoted(text: string): string {
  const inner = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll("'", "\\'")
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  return `'${inner}'`;
}

/** Returns the expression for a JSON value. */
export function literal(value: Json): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (isJsonObject(value))
    return Object.keys(value).length === 0
      ? '{}'
      : `{ ${Object.entries(value)
          .map(([name, member]) => `${key(name)}: ${literal(member)}`)
          .join(', ')} }`;
  return JSON.stringify(value);
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** Returns a property key for an object literal. A plain `__proto__` would set the prototype. */
export function key(name: string): string {
  if (name === '__proto__') return "['__proto__']";
  return IDENTIFIER.test(name) ? name : quoted(name);
}

/** Returns the expression for a property of a variable. */
export function member(variable: string, name: string): string {
  return IDENTIFIER.test(name) ? `${variable}.${name}` : `${variable}[${quoted(name)}]`;
}

/** Returns text that is safe in a comment, on one line. */
export function comment(text: string): string {
  return text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim();
}

const RESERVED = new Set([
  ...RESERVED_WORDS,
  'arguments',
  'eval',
  'undefined',
  'Object',
  'String',
  'Array',
  'JSON',
  'Error',
  'URL',
  'URLSearchParams',
  'Headers',
  'fetch',
  'Buffer',
  'encodeURIComponent',
  'RegExp',
]);
/** Limit of model APIs. */
const MAX_LENGTH = 64;

/** Assigns unique names. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken);
  }

  /** Reserves and returns an identifier similar to `name`, at most 64 characters long. */
  take(name: string): string {
    const plain = name.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '') || 'call';
    const base = (/^\d/.test(plain) ? `_${plain}` : plain).slice(0, MAX_LENGTH);
    let unique = base;
    for (let n = 2; this.#taken.has(unique) || RESERVED.has(unique); n++)
      unique = `${base.slice(0, MAX_LENGTH - 4)}_${n}`;
    this.#taken.add(unique);
    return unique;
  }
}

/** Bits of TypeScript as text. */
import { isJsonObject, type Json } from '../../common/json.ts';

/** A text in single quotes. */
export function quoted(text: string): string {
  const inner = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll("'", "\\'")
    .replaceAll('\u2028', '\\u2028')
    .replaceAll('\u2029', '\\u2029');
  return `'${inner}'`;
}

/** A JSON value as an expression. */
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

/** A name as a key of an object. `__proto__` would be another thing. */
export function key(name: string): string {
  if (name === '__proto__') return "['__proto__']";
  return IDENTIFIER.test(name) ? name : quoted(name);
}

/** A member of a variable. */
export function member(of: string, name: string): string {
  return IDENTIFIER.test(name) ? `${of}.${name}` : `${of}[${quoted(name)}]`;
}

/** A text that may stand in a comment. */
export function comment(text: string): string {
  return text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ').trim();
}

const RESERVED = new Set([
  'await',
  'break',
  'case',
  'catch',
  'class',
  'const',
  'continue',
  'debugger',
  'default',
  'delete',
  'do',
  'else',
  'enum',
  'export',
  'extends',
  'false',
  'finally',
  'for',
  'function',
  'if',
  'implements',
  'import',
  'in',
  'instanceof',
  'interface',
  'let',
  'new',
  'null',
  'package',
  'private',
  'protected',
  'public',
  'return',
  'static',
  'super',
  'switch',
  'this',
  'throw',
  'true',
  'try',
  'typeof',
  'var',
  'void',
  'while',
  'with',
  'yield',
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
const LONGEST = 64;

/** Hands out each name once. */
export class Names {
  readonly #taken: Set<string>;

  constructor(taken: readonly string[]) {
    this.#taken = new Set(taken);
  }

  /** An identifier near to what is wished for, at most 64 characters long as models' APIs want it. */
  take(wished: string): string {
    const plain = wished.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '') || 'call';
    const base = (/^\d/.test(plain) ? `_${plain}` : plain).slice(0, LONGEST);
    let name = base;
    for (let n = 2; this.#taken.has(name) || RESERVED.has(name); n++) name = `${base.slice(0, LONGEST - 4)}_${n}`;
    this.#taken.add(name);
    return name;
  }
}

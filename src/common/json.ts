/** Any value that JSON can represent. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns canonical JSON text: keys sorted by UTF-16 code unit, no white space, numbers as ECMAScript prints them (the
 * rules of RFC 8785 for values that JSON.parse can return). Leaves out `undefined` members. Throws a TypeError for a
 * cycle, a bigint, a function, or a non-finite number.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0, undefined);
}

/** From this depth on, values that contain themselves are looked for: a cycle gets there in any case. */
const CYCLES_FROM = 64;

/** `above`: what contains the value, from that depth on. */
function write(value: unknown, depth: number, above: Set<object> | undefined): string {
  if (value === null) return 'null';
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`${String(value)} cannot be written as JSON`);
      return JSON.stringify(value);
    case 'object':
      break;
    default:
      throw new TypeError(`a ${typeof value} cannot be written as JSON`);
  }
  const known = depth < CYCLES_FROM ? undefined : (above ?? new Set());
  if (known?.has(value) === true) throw new TypeError('a value that contains itself cannot be written as JSON');
  known?.add(value);
  // Hashes are made of many small values, so this creates no lists.
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value as unknown[])
      text += `${text === '' ? '[' : ','}${item === undefined ? 'null' : write(item, depth + 1, known)}`;
    text = text === '' ? '[]' : `${text}]`;
  } else {
    const source = value as Record<string, unknown>;
    for (const key of Object.keys(source).sort()) {
      const member = source[key];
      if (member === undefined) continue;
      text += `${text === '' ? '{' : ','}${JSON.stringify(key)}:${write(member, depth + 1, known)}`;
    }
    text = text === '' ? '{}' : `${text}}`;
  }
  known?.delete(value);
  return text;
}

/** Returns whether two values are equal, whatever the order of their members. Stops at the first difference. */
export function isSameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => isSameJson(item, b[index]));
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]))
  );
}

/**
 * How deep a value of a model or a recording may be nested. Much deeper ones parse, but then overflow the stack of
 * whatever walks them, which would look like a fault of the product.
 */
export const MAX_DEPTH = 256;

/** Returns whether a value from JSON.parse is nested deeper than `MAX_DEPTH`. Does not recurse. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap((one): unknown[] => (Array.isArray(one) ? one : isJsonObject(one) ? Object.values(one) : []));
  }
  return false;
}

/** Parses a JSON text; undefined if it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

import { isJsonObject, type Json } from '../../common/json.ts';

/**
 * Returns `value` with the target of a JSON pointer (RFC 6901) replaced. Copies only the objects on the path. undefined
 * if the target does not exist: a recorded edit that does not apply is displayed, but has no effect.
 */
export function replaceAt(value: Json, pointer: string, replacement: Json): Json | undefined {
  if (pointer === '') return replacement;
  if (!pointer.startsWith('/')) return undefined;
  const cut = pointer.indexOf('/', 1);
  const token = (cut < 0 ? pointer.slice(1) : pointer.slice(1, cut)).replaceAll('~1', '/').replaceAll('~0', '~');
  const rest = cut < 0 ? '' : pointer.slice(cut);
  if (Array.isArray(value)) {
    const index = token === '-' ? value.length : /^\d+$/.test(token) ? Number(token) : -1;
    const item = inner(value[index], rest, replacement);
    return index < 0 || index > value.length || item === undefined ? undefined : value.toSpliced(index, 1, item);
  }
  if (!isJsonObject(value)) return undefined;
  const member = inner(Object.hasOwn(value, token) ? value[token] : undefined, rest, replacement);
  return member === undefined ? undefined : Object.fromEntries([...Object.entries(value), [token, member]]);
}

function inner(value: Json | undefined, rest: string, replacement: Json): Json | undefined {
  if (rest === '') return replacement;
  return value === undefined ? undefined : replaceAt(value, rest, replacement);
}

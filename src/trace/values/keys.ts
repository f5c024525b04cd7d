/** Keys that start with `$` belong to the format (`$blob`); a user's own `$key` is written `$$key`. */
import { isJsonObject, type Json } from '../../common/json.ts';
import type { BlobRef } from '../schema.ts';
import { changeAll } from './slots.ts';

/** Whether a stored value is a reference to a blob. A user's own `$blob` key is escaped, so it never is. */
export function isBlobRef(value: unknown): value is BlobRef {
  return typeof value === 'object' && value !== null && '$blob' in value && typeof value.$blob === 'string';
}

/** As stored. Gives the value itself when it has no key to escape; references that `keep` names stay as they are. */
export function escapeKeys(value: Json, keep: (ref: BlobRef) => boolean): Json {
  return hasKey(value, '$') ? renameKeys(value, (key) => (key.startsWith('$') ? `$${key}` : key), keep) : value;
}

/** As the user wrote it; references to blobs stay as they are. Gives the value itself when nothing was escaped. */
export function unescapeKeys(value: Json): Json {
  return hasKey(value, '$$')
    ? renameKeys(
        value,
        (key) => (key.startsWith('$$') ? key.slice(1) : key),
        () => true,
      )
    : value;
}

/** Whether some key in `value` starts with `prefix`. Makes nothing: nearly all values have none. */
function hasKey(value: Json, prefix: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (hasKey(item, prefix)) return true;
    return false;
  }
  for (const key in value) {
    const member = value[key];
    if (key.startsWith(prefix) || (member !== undefined && hasKey(member, prefix))) return true;
  }
  return false;
}

function renameKeys(value: Json, rename: (key: string) => string, keep: (ref: BlobRef) => boolean): Json {
  if (Array.isArray(value)) return changeAll(value, (item) => renameKeys(item, rename, keep));
  if (!isJsonObject(value) || (isBlobRef(value) && keep(value))) return value;
  // fromEntries defines members, so a key named `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [rename(key), renameKeys(member, rename, keep)]),
  );
}

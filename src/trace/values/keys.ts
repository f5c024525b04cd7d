/** Keys that start with `$` belong to the format (`$blob`); a user's own `$key` is written `$$key`. */
import { isJsonObject, type Json } from '../../common/json.ts';
import type { BlobRef } from '../schema.ts';
import { changeAll } from './slots.ts';

/** Returns whether a stored value is a reference to a blob. A user's own `$blob` key is escaped. */
export function isBlobRef(value: unknown): value is BlobRef {
  return typeof value === 'object' && value !== null && '$blob' in value && typeof value.$blob === 'string';
}

/** Escapes keys for storage. Returns the value itself if nothing changes. Keeps references for which `keep` is true. */
export function escapeKeys(value: Json, keep: (ref: BlobRef) => boolean): Json {
  return hasKey(value, '$') ? renameKeys(value, (key) => (key.startsWith('$') ? `$${key}` : key), keep) : value;
}

/** Restores the user's keys. Returns the value itself if nothing changes. Keeps references to blobs. */
export function unescapeKeys(value: Json): Json {
  return hasKey(value, '$$')
    ? renameKeys(
        value,
        (key) => (key.startsWith('$$') ? key.slice(1) : key),
        () => true,
      )
    : value;
}

/** Returns whether any key in `value` starts with `prefix`. Allocates nothing, because nearly all values have none. */
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
  // fromEntries defines properties, so a key named `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [rename(key), renameKeys(member, rename, keep)]),
  );
}

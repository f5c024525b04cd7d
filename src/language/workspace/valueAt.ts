import { isJsonObject } from '../../common/json.ts';
import type { Path } from '../../config/source/parse.ts';

/** Returns the value at a path, or undefined. */
export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (value, step) =>
      isJsonObject(value) || Array.isArray(value)
        ? (value as Readonly<Record<string | number, unknown>>)[step]
        : undefined,
    root,
  );
}

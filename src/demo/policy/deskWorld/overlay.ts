/** Changes a real result by what only happened in the simulation. */
import { isJsonObject, isSameJson, type Json, type JsonObject } from '../../../common/json.ts';

/**
 * Returns `real` with what distinguishes `after` from `before`: results of the same call by the rules of the desk,
 * after and before the calls of the conversation. The real library has rows that the model does not know, so `after`
 * itself may not be what the call returns.
 */
export function overlaid(real: Json, before: Json, after: Json): Json {
  if (isSameJson(before, after)) return real;
  if (Array.isArray(real) && Array.isArray(before) && Array.isArray(after)) return rowsAfter(real, before, after);
  if (isJsonObject(real) && isJsonObject(before) && isJsonObject(after)) {
    const changed = Object.entries(after).map(([key, value]) => [
      key,
      overlaid(real[key] ?? null, before[key] ?? null, value),
    ]);
    return { ...real, ...(Object.fromEntries(changed) as JsonObject) };
  }
  // How many copies are free, for example.
  if (typeof real === 'number' && typeof before === 'number' && typeof after === 'number') return real + after - before;
  return after;
}

/** Rows are the same if their first value, an ID, is. */
function rowsAfter(real: readonly Json[], before: readonly Json[], after: readonly Json[]): Json[] {
  const find = (rows: readonly Json[], row: Json): Json | undefined => rows.find((other) => idOf(other) === idOf(row));
  const kept = real.flatMap((row) => {
    const [was, is] = [find(before, row), find(after, row)];
    if (was === undefined) return [row];
    return is === undefined ? [] : [overlaid(row, was, is)];
  });
  return [...kept, ...after.filter((row) => find(before, row) === undefined && find(real, row) === undefined)];
}

function idOf(row: Json): string {
  return JSON.stringify(isJsonObject(row) ? Object.values(row)[0] : row);
}

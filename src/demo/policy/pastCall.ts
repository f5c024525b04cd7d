/** A tool call in a conversation. */
import type { Json } from '../../common/json.ts';

export interface PastCall {
  readonly name: string;
  /** null: the model wrote something other than a JSON object. */
  readonly args: Readonly<Record<string, Json>> | null;
  /** undefined: no result yet. */
  readonly result: PastResult | undefined;
}

type PastResult = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly text: string };

export function pastCall(name: string, args: string, result: string | undefined): PastCall {
  return { name, args: objectIn(args), result: result === undefined ? undefined : resultOf(result) };
}

/** Parses a result. The desk's results are JSON. An error is an object with a member `error`, or plain text. */
function resultOf(text: string): PastResult {
  const value = parsed(text);
  const failed =
    value === undefined ||
    typeof value === 'string' ||
    (typeof value === 'object' && value !== null && !Array.isArray(value) && 'error' in value);
  return failed ? { ok: false, text } : { ok: true, value };
}

function objectIn(text: string): Record<string, Json> | null {
  const value = parsed(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // the result of JSON.parse is Json
  } catch {
    return undefined; // plain text
  }
}

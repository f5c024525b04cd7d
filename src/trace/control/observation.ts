/** What a tool call showed to the agent, as rules and rates read it. */
import type { Json } from '../../common/json.ts';
import { signalsError } from '../toolCalls/signalsError.ts';

export interface Observation {
  readonly text: string;
  /** null: the text is not JSON. */
  readonly json: Json;
  /** Whether it signals an error. */
  readonly failed: boolean;
}

/** Longer texts are not parsed. */
const MAX_CHARS = 200_000;

/** `isError`: whether the call itself failed. */
export function toObservation(response: Json, isError = false): Observation {
  const text = typeof response === 'string' ? response : JSON.stringify(response);
  const json = typeof response === 'string' ? parsed(response) : response;
  return { text, json, failed: isError || signalsError(json ?? text) };
}

function parsed(text: string): Json {
  if (text.length > MAX_CHARS || !/^\s*[[{"\d\-tfn]/.test(text)) return null;
  try {
    return JSON.parse(text) as Json; // the result of JSON.parse is Json
  } catch {
    return null; // plain text
  }
}

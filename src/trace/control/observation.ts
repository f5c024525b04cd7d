/** What a tool call showed to the agent, as rules and rates read it. */
import { isJsonObject, type Json } from '../../common/json.ts';

export interface Observation {
  readonly text: string;
  /** null: the text is not JSON. */
  readonly json: Json;
  /** Whether it signals an error. */
  readonly failed: boolean;
}

/** Longer texts are not parsed. */
const MAX_CHARS = 200_000;
const ERROR_TEXT = /^\s*(?:\w+ )?(?:error|exception|traceback)\b/i;
/** HTTP: 4xx and 5xx. */
const ERROR_STATUS = /^[45]\d\d$/;

/** `isError`: whether the call itself failed. */
export function observationOf(response: Json, isError = false): Observation {
  const text = typeof response === 'string' ? response : JSON.stringify(response);
  const json = typeof response === 'string' ? parsed(response) : response;
  return { text, json, failed: isError || signalsError(text, json) };
}

/** A simulated call, and many a real tool, reports an error as its result. */
function signalsError(text: string, json: Json): boolean {
  if (!isJsonObject(json)) return ERROR_TEXT.test(text);
  const { error, errors, status, isError, success, ok, code } = json;
  return (
    (error !== undefined && error !== null && error !== false && error !== '') ||
    (Array.isArray(errors) && errors.length > 0) ||
    isError === true ||
    success === false ||
    ok === false ||
    status === 'error' ||
    ERROR_STATUS.test(String(typeof code === 'number' ? code : ''))
  );
}

function parsed(text: string): Json {
  if (text.length > MAX_CHARS || !/^\s*[[{"\d\-tfn]/.test(text)) return null;
  try {
    return JSON.parse(text) as Json; // the result of JSON.parse is Json
  } catch {
    return null; // plain text
  }
}

/**
 * Finds the JSON object with the marks in a judge's reply, and repairs it, by the rules of Qwen-AgentWorld's
 * evaluation.
 */
import type { Json, JsonObject } from '../../common/json.ts';
import { PYTHON_SPACE, strip } from '../../common/pythonText.ts';
import { lastTagged, withoutThinking } from '../../common/taggedReply.ts';

/** The tag in which a judge gives its evaluation. */
export const EVALUATION = 'final_evaluation';
const SCORES = '"scores"';
const FENCE = '```';
/** How many characters are compared at most to find objects: a reply of only `{` would take forever. */
const MAX_COMPARED = 20_000_000;

const SPACES = `[${PYTHON_SPACE}]*`;
const WORD = '[\\p{L}\\p{N}_]+';
const TRAILING_COMMA = new RegExp(`,(${SPACES}[}\\]])`, 'gu');
const QUOTED_KEY = new RegExp(`'(${WORD})'(${SPACES}:)`, 'gu');
const BARE_KEY = new RegExp(`([{,])${SPACES}(${WORD})${SPACES}:`, 'gu');
const ONLY_SCORES = new RegExp(`"scores"${SPACES}:${SPACES}\\{[^}]+\\}`, 'u');
/** Numbers that Python reads and JSON does not have. A string is matched so that nothing in it is. */
const NOT_FINITE = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/gs;

/** What a reply contains. */
export interface ReplyJson {
  /** From which marks are taken. */
  readonly marks: JsonObject;
  /** From which reasons are taken: the object as the judge wrote it, if it can be read as such. */
  readonly reasons: JsonObject;
}

/** Returns the object in a reply; undefined if there is none that can be read. */
export function replyJson(reply: string): ReplyJson | undefined {
  const cleaned = withoutThinking(strip(reply), EVALUATION);
  const tagged = lastTagged(cleaned, EVALUATION) ?? '';
  const text = tagged === '' ? cleaned : tagged;
  const found = inFence(text) ?? inBraces(text) ?? beforeLastBrace(text);
  if (found === undefined) return undefined;
  const repaired = repair(found);
  const scores = ONLY_SCORES.exec(repaired)?.[0];
  const marks = parsed(repaired) ?? (scores === undefined ? undefined : parsed(`{${scores}}`));
  return marks === undefined ? undefined : { marks, reasons: parsed(found) ?? marks };
}

/** Returns the thinking aloud before the evaluation. */
export function reasoningOf(reply: string): string {
  const cleaned = withoutThinking(strip(reply), EVALUATION);
  return strip(cleaned.slice(0, Math.max(0, cleaned.toLowerCase().lastIndexOf(`<${EVALUATION}>`))));
}

/** Returns the last fenced object with scores, otherwise the last fenced object. */
function inFence(text: string): string | undefined {
  const objects = fenced(text).filter((block) => block.startsWith('{') && block.endsWith('}'));
  return objects.findLast((block) => block.includes(SCORES)) ?? objects.at(-1);
}

function fenced(text: string): string[] {
  const blocks: string[] = [];
  for (let open = text.indexOf(FENCE); open !== -1; ) {
    const from = open + FENCE.length;
    const start = text.startsWith('json', from) ? from + 'json'.length : from;
    const end = text.indexOf(FENCE, start);
    if (end === -1) break;
    blocks.push(strip(text.slice(start, end)));
    open = text.indexOf(FENCE, end + FENCE.length);
  }
  return blocks;
}

/** Returns the last object with scores, otherwise the last object. */
function inBraces(text: string): string | undefined {
  let last: string | undefined;
  let scored: string | undefined;
  let budget = MAX_COMPARED;
  for (let start = text.indexOf('{'); start !== -1 && budget > 0; ) {
    const end = endOfObject(text, start, start + budget);
    budget -= (end === -1 ? text.length : end) - start;
    if (end === -1) {
      start = text.indexOf('{', start + 1);
      continue;
    }
    last = text.slice(start, end);
    if (last.includes(SCORES)) scored = last;
    start = text.indexOf('{', end);
  }
  return scored ?? last;
}

/** Returns the index after the brace that closes the one at `start`, or -1. Braces in strings do not count. */
function endOfObject(text: string, start: number, limit: number): number {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length && i < limit; i++) {
    const char = text[i];
    if (char === '\\' && inString) i++;
    else if (char === '"') inString = !inString;
    else if (inString) continue;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return i + 1;
  }
  return -1;
}

/** Returns the object that ends with the last brace, read backwards. */
function beforeLastBrace(text: string): string | undefined {
  const end = text.lastIndexOf('}');
  let depth = 0;
  let inString = false;
  for (let i = end; i >= 0; i--) {
    const char = text[i];
    if (char === '"' && text[i - 1] !== '\\') inString = !inString;
    if (inString) continue;
    if (char === '}') depth++;
    else if (char === '{' && --depth === 0) return text.slice(i, end + 1);
  }
  return undefined;
}

/** Removes trailing commas, and quotes keys. It may break a text that contains the same, as the published rules do. */
function repair(text: string): string {
  return text.replace(TRAILING_COMMA, '$1').replace(QUOTED_KEY, '"$1"$2').replace(BARE_KEY, '$1"$2":');
}

/** Infinite numbers stand for all that are not finite. */
function parsed(text: string): JsonObject | undefined {
  try {
    const finite = text.replace(NOT_FINITE, (match) => (match.startsWith('"') ? match : '1e999'));
    const value = JSON.parse(finite) as Json; // JSON.parse returns Json
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined; // not JSON: the caller tries something else
  }
}

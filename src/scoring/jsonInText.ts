import type { Json } from '../common/json.ts';

const FENCED = /```[ \t]*(?:json[c5]?)?[ \t]*\r?\n([\s\S]*?)```/gi;

/**
 * Returns the JSON value in a model's text: the whole text, otherwise the last fenced block that can be parsed,
 * otherwise the first list or object in the text that can be parsed. `undefined` if there is none (null is a value).
 */
export function jsonInText(text: string): Json | undefined {
  const whole = parsed(text);
  if (whole !== undefined) return whole;
  for (const [, block] of [...text.matchAll(FENCED)].reverse()) {
    const value = parsed(block ?? '');
    if (value !== undefined) return value;
  }
  let from = text.search(/[[{]/);
  for (let tries = 0; from >= 0 && tries < 50; tries++) {
    const to = endOf(text, from);
    const value = to === -1 ? undefined : parsed(text.slice(from, to));
    if (value !== undefined) return value;
    const next = text.slice(from + 1).search(/[[{]/);
    from = next === -1 ? -1 : from + 1 + next;
  }
  return undefined;
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json; // JSON.parse returns Json
  } catch {
    return undefined; // not JSON: the caller tries something else
  }
}

/** Returns the index after the bracket that closes the one at `from`, or -1. Brackets in strings do not count. */
function endOf(text: string, from: number): number {
  let depth = 0;
  let inString = false;
  for (let i = from; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === '\\') i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '{' || char === '[') depth++;
    else if ((char === '}' || char === ']') && --depth === 0) return i + 1;
  }
  return -1;
}

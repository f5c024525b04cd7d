/** Finds values in JSON texts. The texts must be valid: whoever has a path has parsed them. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Returns the offset of the value at a path. With `within`, the value is a text, and the result is the offset of that
 * character of it. undefined: there is no such value.
 */
export function jsonOffset(text: string, path: readonly (string | number)[], within?: number): number | undefined {
  let at = afterSpace(text, 0);
  for (const step of path) {
    const found = typeof step === 'number' ? elementOffset(text, at, step) : memberOffset(text, at, step);
    if (found === undefined) return undefined;
    at = found;
  }
  return within === undefined ? at : characterOffset(text, at, within);
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++;
  return at;
}

/** Returns the offset behind a value. */
function afterValue(text: string, from: number): number {
  if (text.charCodeAt(from) === QUOTE) return afterText(text, from);
  const open = text[from];
  if (open !== '{' && open !== '[') {
    let at = from;
    while (at < text.length && !/[\s,\]}]/.test(text[at] ?? '')) at++;
    return at;
  }
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = afterText(text, at) - 1;
    else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  return text.length;
}

function afterText(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at + 1;
  }
  return text.length;
}

function elementOffset(text: string, from: number, index: number): number | undefined {
  if (text[from] !== '[') return undefined;
  let at = afterSpace(text, from + 1);
  for (let number = 0; text[at] !== ']' && at < text.length; number++) {
    if (number === index) return at;
    at = afterSpace(text, afterValue(text, at));
    if (text[at] === ',') at = afterSpace(text, at + 1);
  }
  return undefined;
}

/** Returns the last member with this name, as JSON.parse does. */
function memberOffset(text: string, from: number, name: string): number | undefined {
  if (text[from] !== '{') return undefined;
  let found: number | undefined;
  let at = afterSpace(text, from + 1);
  while (text[at] === '"') {
    const end = afterText(text, at);
    const key: unknown = JSON.parse(text.slice(at, end));
    at = afterSpace(text, afterSpace(text, end) + 1);
    if (key === name) found = at;
    at = afterSpace(text, afterValue(text, at));
    if (text[at] === ',') at = afterSpace(text, at + 1);
  }
  return found;
}

function characterOffset(text: string, from: number, within: number): number | undefined {
  if (text.charCodeAt(from) !== QUOTE) return undefined;
  let at = from + 1;
  for (let left = within; left > 0; left--) {
    if (text.charCodeAt(at) === QUOTE) return at;
    at += text.charCodeAt(at) !== BACKSLASH ? 1 : text[at + 1] === 'u' ? 6 : 2;
  }
  return at;
}

/** Returns the line and column of an offset, both from 1. */
export function lineAndColumn(text: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf('\n'); end !== -1 && end < offset; end = text.indexOf('\n', start)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1 };
}

/** Returns the offset of a line and column, both from 1. */
export function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let left = line; left > 1; left--) {
    const end = text.indexOf('\n', start);
    if (end === -1) break;
    start = end + 1;
  }
  return Math.min(start + column - 1, text.length);
}

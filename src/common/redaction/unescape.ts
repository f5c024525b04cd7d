/**
 * Undoes percent-encoding, escapes of JSON and programs, HTML entities, and the line breaks in long base64, so that a
 * secret can be found in whatever mixture of them it was written.
 */

/** A text without its escapes, and where its parts were. */
export class Unescaped {
  readonly text: string;
  /** Where each replacement starts and ends in `text`, and in the original. */
  readonly #parts: readonly Part[];

  constructor(text: string, parts: readonly Part[]) {
    this.text = text;
    this.#parts = parts;
  }

  /** Returns where the character at `at` starts in the original. */
  start(at: number): number {
    const part = this.#partAt(at);
    if (part === undefined) return at;
    return at < part.end ? part.from : part.to + (at - part.end);
  }

  /** Returns where what ends before `at` ends in the original. */
  end(at: number): number {
    const part = this.#partAt(at - 1);
    if (part === undefined) return at;
    return at <= part.end ? part.to : part.to + (at - part.end);
  }

  /** Returns the last replacement that starts at or before `at`. */
  #partAt(at: number): Part | undefined {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#parts[middle]?.start ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return this.#parts[low - 1];
  }
}

interface Part {
  readonly start: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

const ESCAPE = new RegExp(
  [
    String.raw`(?:%[0-9a-f]{2})+`,
    String.raw`(?:\\x[0-9a-f]{2})+`,
    String.raw`\\u[0-9a-f]{4}`,
    String.raw`\\["'\\/bfnrt]`,
    '&(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-f]{1,6});',
  ].join('|'),
  'gi',
);

/** The beginning of an escape, of a character of several bytes, or of a line break in base64, at the end of a text. */
const OPEN = new RegExp(
  String.raw`(?:(?:(?:%|\\x)[c-f][0-9a-f])(?:(?:%|\\x)[89ab][0-9a-f]){0,3})?` +
    String.raw`(?:%[0-9a-f]?|\\+(?:x[0-9a-f]?|u[0-9a-f]{0,3})?|&[#a-z0-9]{0,8}|(?<=[a-z0-9+/_-]{60})\r?\n?)?$`,
  'i',
);

/** Returns where an incomplete escape at the end of the text starts; its length if there is none. */
export function openEscape(text: string): number {
  const at = text.slice(-70).search(OPEN);
  return at === -1 ? text.length : Math.max(0, text.length - 70) + at;
}

/** Returns the text with one level of escapes undone; undefined if it has none. */
export function unescapeOnce(text: string): Unescaped | undefined {
  const escaped = text.includes('%') || text.includes('\\') || text.includes('&');
  const breaks = lineBreaksInBase64(text);
  if (!escaped && breaks.length === 0) return undefined;
  const found = breaks.map(({ from, to }): Found => ({ from, to, text: '' }));
  if (escaped) for (const match of text.matchAll(ESCAPE)) found.push(...replacements(match[0], match.index));
  if (found.length === 0) return undefined;
  if (breaks.length > 0) found.sort((a, b) => a.from - b.from);
  const parts: Part[] = [];
  let out = '';
  let at = 0;
  for (const { from, to, text: replacement } of found) {
    out += text.slice(at, from);
    parts.push({ start: out.length, end: out.length + replacement.length, from, to });
    out += replacement;
    at = to;
  }
  return new Unescaped(out + text.slice(at), parts);
}

interface Found {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const LETTERS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function replacements(escape: string, at: number): Found[] {
  const one = (text: string): Found[] => [{ from: at, to: at + escape.length, text }];
  if (escape.startsWith('%')) return bytesAt(escape, 3, at);
  if (escape.startsWith('&')) return one(entity(escape.slice(1, -1).toLowerCase()));
  switch (escape[1]) {
    case 'x':
    case 'X':
      return bytesAt(escape, 4, at);
    case 'u':
    case 'U':
      return one(String.fromCharCode(Number.parseInt(escape.slice(2), 16)));
    default: {
      const letter = escape[1] ?? '';
      return one(LETTERS[letter] ?? letter);
    }
  }
}

function entity(name: string): string {
  if (!name.startsWith('#')) return NAMED[name] ?? '';
  const code = name.startsWith('#x') ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code <= 0x10ffff ? String.fromCodePoint(code) : '';
}

/** Returns the characters of a run of encoded bytes, `width` characters each. Those that are not UTF-8 stay. */
function bytesAt(run: string, width: number, at: number): Found[] {
  const bytes = Uint8Array.from({ length: run.length / width }, (_, index) =>
    Number.parseInt(run.slice((index + 1) * width - 2, (index + 1) * width), 16),
  );
  const found: Found[] = [];
  for (let index = 0; index < bytes.length; ) {
    const first = bytes[index] ?? 0;
    const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    const text = utf8(bytes.subarray(index, index + length));
    const taken = text === undefined ? 1 : length;
    if (text !== undefined) found.push({ from: at + index * width, to: at + (index + taken) * width, text });
    index += taken;
  }
  return found;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** How many characters of base64 or hexadecimal are before a line break that `base64`, PEM, or `xxd` inserted. */
const WRAPPED = 60;

function lineBreaksInBase64(text: string): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (let at = text.indexOf('\n', WRAPPED); at !== -1; at = text.indexOf('\n', at + 1)) {
    const from = text[at - 1] === '\r' ? at - 1 : at;
    if (!isBase64(text.charCodeAt(at + 1))) continue;
    let start = from;
    while (start > 0 && from - start < WRAPPED && isBase64(text.charCodeAt(start - 1))) start--;
    if (from - start >= WRAPPED) found.push({ from, to: at + 1 });
  }
  return found;
}

function isBase64(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || // a-z
    (code >= 0x41 && code <= 0x5a) || // A-Z
    (code >= 0x2f && code <= 0x39) || // /, 0-9
    code === 0x2b || // +
    code === 0x2d || // -
    code === 0x5f || // _
    code === 0x3d // =
  );
}

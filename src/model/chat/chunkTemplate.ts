/**
 * Reads the chunks of a streamed reply that differ only in one text. Nearly all chunks of a reply are such: parsing the
 * JSON around the same few characters again and again costs a worker more than everything else that it does.
 */
import { TEXT_FIELDS, type TextField } from './answer.ts';

type Raw = Readonly<Record<string, unknown>>;

/** Text that means itself in a JSON string. */
const PLAIN = /^[^"\\\u0000-\u001f]+$/;
/** What a chunk may say around a text without saying anything about the reply. */
const SILENT_IN_CHUNK = new Set(['id', 'object', 'created', 'model', 'choices', 'system_fingerprint', 'service_tier']);
const SILENT_IN_CHOICE = new Set(['index', 'delta']);

export class ChunkTemplate {
  #field: TextField = 'content';
  #before = '';
  #after = '';
  /** The same, with the rest of the event. */
  #open = '';
  #close = '';

  /**
   * Reads the events of a stream, from the position where one begins, for as long as they are such chunks, one after
   * another. Passes on their texts together, and returns the position after them: `at` if there are none.
   */
  skim(lines: string, at: number, found: (field: TextField, text: string) => void): number {
    if (this.#before === '') return at;
    const open = this.#open;
    const close = this.#close;
    let next = at;
    let text = '';
    for (;;) {
      // A slice that is compared costs less than `startsWith`, and few characters less than a regular expression.
      const start = next + open.length;
      if (lines.slice(next, start) !== open) break;
      const end = plainEnd(lines, start);
      const after = end + close.length;
      if (end === start || lines.slice(end, after) !== close) break;
      text += lines.slice(start, end);
      next = after;
    }
    if (text !== '') found(this.#field, text);
    return next;
  }

  /** Returns the text of a chunk that is like the last one which was learned; undefined for any other chunk. */
  match(data: string): { readonly field: TextField; readonly text: string } | undefined {
    const before = this.#before;
    const after = this.#after;
    if (before === '' || data.length <= before.length + after.length) return undefined;
    if (!data.startsWith(before) || !data.endsWith(after)) return undefined;
    const text = data.slice(before.length, data.length - after.length);
    return PLAIN.test(text) ? { field: this.#field, text } : undefined;
  }

  /** Learns from a chunk. `raw`: `data`, parsed. */
  learn(data: string, raw: Raw): void {
    const found = onlyText(raw);
    if (found === undefined) return;
    const key = `"${found.field}":`;
    const at = data.indexOf(key);
    // A quote inside of a text is escaped, so what looks like a key is one. It must be the only one of this name.
    if (at < 0 || data.includes(key, at + 1)) return;
    const start = data.indexOf('"', at + key.length) + 1;
    if (data.slice(at + key.length, start).trim() !== '"' || !data.startsWith(`${found.text}"`, start)) return;
    this.#field = found.field;
    this.#before = data.slice(0, start);
    this.#after = data.slice(start + found.text.length);
    this.#open = `data: ${this.#before}`;
    this.#close = `${this.#after}\n\n`;
  }
}

/** Returns where the text that is plain from a position on ends. */
function plainEnd(text: string, from: number): number {
  let at = from;
  while (at < text.length && isPlain(text.charCodeAt(at))) at++;
  return at;
}

/** The same as `PLAIN`, for one code unit. */
function isPlain(code: number): boolean {
  return code >= 0x20 && code !== QUOTE && code !== BACKSLASH;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the text of a chunk that says nothing else. */
function onlyText(raw: Raw): { readonly field: TextField; readonly text: string } | undefined {
  const { choices } = raw;
  if (!Array.isArray(choices) || choices.length !== 1 || !isSilent(raw, SILENT_IN_CHUNK)) return undefined;
  const choice: unknown = choices[0];
  if (!isRaw(choice) || !isSilent(choice, SILENT_IN_CHOICE)) return undefined;
  const { delta } = choice;
  if (!isRaw(delta)) return undefined;
  const fields = Object.entries(delta).filter(([, value]) => value !== null);
  const [field] = fields;
  if (field === undefined || fields.length !== 1) return undefined;
  const name = TEXT_FIELDS.find((candidate) => candidate === field[0]);
  return name !== undefined && typeof field[1] === 'string' && PLAIN.test(field[1])
    ? { field: name, text: field[1] }
    : undefined;
}

/** Whether all other members are null. */
function isSilent(value: Raw, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name) && value[name] !== null) return false;
  return true;
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null;
}

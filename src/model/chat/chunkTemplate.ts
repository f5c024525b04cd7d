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
  /** The same as bytes, with the rest of the event. */
  #open: DataView = NOTHING;
  #close: DataView = NOTHING;

  /**
   * Reads the events of a stream, from the position where one begins, for as long as they are such chunks, one after
   * another. Passes on their texts together, and returns the position after them: `at` if there are none.
   */
  skim(lines: Buffer, at: number, found: (field: TextField, text: string) => void): number {
    const open = this.#open;
    const close = this.#close;
    if (open.byteLength === 0) return at;
    const words = viewOf(lines);
    let next = at;
    let text = '';
    let copied = 0;
    while (equal(words, next, open)) {
      const start = next + open.byteLength;
      const end = plainEnd(lines, start);
      if (end === start || !equal(words, end, close)) break;
      const length = end - start;
      const short = length <= MAX_COPIED && isAscii(lines, start, end);
      if (!short || copied + length > COPIED.length) {
        text += COPIED.toString('latin1', 0, copied);
        copied = 0;
      }
      if (!short) text += lines.toString('utf8', start, end);
      else for (let from = start; from < end; from++) COPIED[copied++] = lines[from] ?? 0;
      next = end + close.byteLength;
    }
    text += COPIED.toString('latin1', 0, copied);
    if (text !== '') found(this.#field, text);
    return next;
  }

  /**
   * Returns the text of a chunk that is like the last one which was learned; undefined for any other chunk. It may have
   * come in other lines than `skim` knows, such as with CRLF.
   */
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
    this.#open = viewOf(Buffer.from(`data: ${this.#before}`));
    this.#close = viewOf(Buffer.from(`${this.#after}\n\n`));
  }
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Whether `bytes` are at a position. Compares four at a time, which takes a third of the time. */
function equal(lines: DataView, at: number, bytes: DataView): boolean {
  const length = bytes.byteLength;
  if (at + length > lines.byteLength) return false;
  let index = 0;
  for (; index + 4 <= length; index += 4) if (lines.getInt32(at + index) !== bytes.getInt32(index)) return false;
  for (; index < length; index++) if (lines.getUint8(at + index) !== bytes.getUint8(index)) return false;
  return true;
}

/** Returns where the text that is `PLAIN` from a position on ends. */
function plainEnd(lines: Buffer, from: number): number {
  for (let at = from; at < lines.length; at++) {
    const byte = lines[at] ?? 0;
    if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH) return at;
  }
  return lines.length;
}

function isAscii(lines: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if ((lines[at] ?? 0) > 0x7f) return false;
  return true;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NOTHING = new DataView(new ArrayBuffer(0));
/** Short texts of chunks, one after another: decoded together, they cost less than each by itself. */
const COPIED = Buffer.alloc(16 * 1024);
const MAX_COPIED = 64;

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

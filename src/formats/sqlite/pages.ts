/** Values in the pages of a SQLite database file: variable-length integers, and records. */
import type { Json } from '../../common/json.ts';

/** How the file stores text, by the number in its header. */
const ENCODINGS: Readonly<Record<number, string>> = { 1: 'utf-8', 2: 'utf-16le', 3: 'utf-16be' };
const MAX_VARINT_BYTES = 9;
/** Bytes of integers by serial type. */
const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8] as const;
const FIRST_CONTENT = 12;

/** Returns the decoder for the texts of a database. */
export function textDecoder(encoding: number): InstanceType<typeof TextDecoder> {
  return new TextDecoder(ENCODINGS[encoding] ?? 'utf-8');
}

/** Returns a variable-length integer, and where it ends. Those beyond 2^53 lose digits. */
export function varintAt(bytes: Uint8Array, at: number): { readonly value: number; readonly next: number } {
  let value = 0;
  for (let index = 0; index < MAX_VARINT_BYTES - 1; index++) {
    const byte = bytes[at + index] ?? 0;
    value = value * 128 + (byte & 127);
    if (byte < 128) return { value, next: at + index + 1 };
  }
  // Eight times seven bits are more than a number holds.
  let big = 0n;
  for (let index = 0; index < MAX_VARINT_BYTES - 1; index++) big = big * 128n + BigInt((bytes[at + index] ?? 0) & 127);
  big = big * 256n + BigInt(bytes[at + MAX_VARINT_BYTES - 1] ?? 0);
  return { value: Number(BigInt.asIntN(64, big)), next: at + MAX_VARINT_BYTES };
}

/**
 * Returns the values of a record as a row of a world has them: integers beyond 2^53 and infinite numbers are texts,
 * binary values `{base64}`.
 */
export function recordOf(payload: Uint8Array, decoder: InstanceType<typeof TextDecoder>): Json[] {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const head = varintAt(payload, 0);
  const values: Json[] = [];
  let at = head.next;
  let content = head.value;
  while (at < head.value) {
    const type = varintAt(payload, at);
    at = type.next;
    const length = lengthOf(type.value);
    values.push(valueOf(view, content, type.value, length, decoder));
    content += length;
  }
  return values;
}

function lengthOf(type: number): number {
  return type >= FIRST_CONTENT ? Math.floor((type - FIRST_CONTENT) / 2) : type === 7 ? 8 : (INTEGER_BYTES[type] ?? 0);
}

function valueOf(
  view: DataView,
  at: number,
  type: number,
  length: number,
  decoder: InstanceType<typeof TextDecoder>,
): Json {
  if (type === 0) return null;
  if (type === 8 || type === 9) return type - 8;
  if (type === 7) {
    const value = view.getFloat64(at);
    return Number.isFinite(value) ? value : value > 0 ? 'inf' : '-inf';
  }
  if (type < 7) return integerAt(view, at, length);
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at, length);
  return type % 2 === 1 ? decoder.decode(bytes) : { base64: base64Of(bytes) };
}

function integerAt(view: DataView, at: number, length: number): number | string {
  if (length === 8) {
    const value = view.getBigInt64(at);
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  let value = view.getInt8(at);
  for (let index = 1; index < length; index++) value = value * 256 + view.getUint8(at + index);
  return value;
}

function base64Of(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

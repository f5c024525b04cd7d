/**
 * Streamed replies come as hundreds of small HTTP chunks, and undici's parser calls back for each, which costs more
 * than reading the reply. An endpoint that is faster than we are sends many of them at once: those that arrive in one
 * piece become one chunk here, before the parser.
 */
import type { Socket } from 'node:net';

/** Makes reads of a connection return merged chunks. It carries one exchange at a time. */
export function mergeChunks(socket: Socket): void {
  const merged = new MergedChunks();
  const read = socket.read.bind(socket);
  socket.read = (size?: number): unknown => {
    const bytes: unknown = read(size);
    return Buffer.isBuffer(bytes) ? merged.push(bytes) : bytes;
  };
}

/**
 * Follows the framing of the responses of one connection. From the first byte on that it does not expect, everything
 * passes unchanged: the parser judges it.
 */
export class MergedChunks {
  #state: 'head' | 'chunks' | 'plain' = 'head';
  /** How many bytes of a body, or of a chunk with its line break, have not arrived. */
  #missing = 0;
  /** The beginning of a line with the size of a chunk. */
  #rest: Buffer = NOTHING;

  /** Returns what the parser gets for bytes that have arrived. */
  push(arrived: Buffer): Buffer {
    const bytes = this.#rest.length === 0 ? arrived : Buffer.concat([this.#rest, arrived]);
    this.#rest = NOTHING;
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      if (this.#missing > 0) {
        const end = Math.min(bytes.length, at + this.#missing);
        this.#missing -= end - at;
        parts.push(bytes.subarray(at, end));
        at = end;
      } else if (this.#state === 'head') at = this.#head(bytes, at, parts);
      else if (this.#state === 'chunks') at = this.#chunks(bytes, at, parts);
      else {
        parts.push(bytes.subarray(at));
        break;
      }
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  #head(bytes: Buffer, from: number, parts: Buffer[]): number {
    const blank = bytes.indexOf(BLANK_LINE, from);
    if (blank < 0) {
      this.#state = 'plain';
      return from;
    }
    const end = blank + BLANK_LINE.length;
    const head = bytes.toString('latin1', from, end);
    const length = LENGTH.exec(head)?.[1];
    if (CHUNKED.test(head) && length === undefined) this.#state = 'chunks';
    else if (length === undefined) this.#state = 'plain';
    else this.#missing = Number(length);
    parts.push(bytes.subarray(from, end));
    return end;
  }

  #chunks(bytes: Buffer, from: number, parts: Buffer[]): number {
    const data: Buffer[] = [];
    let total = 0;
    let at = from;
    let next = sizeAt(bytes, at);
    while (typeof next === 'object' && next.size > 0) {
      const end = next.data + next.size;
      if (bytes[end] !== CARRIAGE_RETURN || bytes[end + 1] !== LINE_FEED) break;
      data.push(bytes.subarray(next.data, end));
      total += next.size;
      at = end + 2;
      next = sizeAt(bytes, at);
    }
    if (data.length > 0) parts.push(Buffer.from(`${total.toString(16)}\r\n`, 'latin1'), ...data, LINE_BREAK);
    if (next === 'open') {
      this.#rest = bytes.subarray(at);
      return bytes.length;
    }
    if (next === 'other') {
      this.#state = 'plain';
      return at;
    }
    if (next.size > 0) {
      this.#missing = next.size + LINE_BREAK.length;
      parts.push(bytes.subarray(at, next.data));
      return next.data;
    }
    // The last chunk, of size 0, ends with a blank line unless trailers follow.
    if (bytes.length < next.data + 2) {
      this.#rest = bytes.subarray(at);
      return bytes.length;
    }
    const isEnd = bytes[next.data] === CARRIAGE_RETURN && bytes[next.data + 1] === LINE_FEED;
    this.#state = isEnd ? 'head' : 'plain';
    if (!isEnd) return at;
    parts.push(bytes.subarray(at, next.data + 2));
    return next.data + 2;
  }
}

/** Sizes have no more digits. */
const MAX_DIGITS = 8;

/** Reads the line with the size of a chunk. `open`: it has not arrived completely. `other`: it says more. */
function sizeAt(bytes: Buffer, from: number): { readonly size: number; readonly data: number } | 'open' | 'other' {
  let size = 0;
  for (let at = from; at <= from + MAX_DIGITS; at++) {
    const byte = bytes[at];
    if (byte === undefined) return 'open';
    if (byte === CARRIAGE_RETURN) {
      if (at === from) return 'other';
      if (at + 1 === bytes.length) return 'open';
      return bytes[at + 1] === LINE_FEED ? { size, data: at + 2 } : 'other';
    }
    const digit = digitOf(byte);
    if (digit === undefined) return 'other';
    size = size * 16 + digit;
  }
  return 'other';
}

function digitOf(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined;
}

const CARRIAGE_RETURN = 13;
const LINE_FEED = 10;
const NOTHING = Buffer.alloc(0);
const LINE_BREAK = Buffer.from('\r\n');
const BLANK_LINE = Buffer.from('\r\n\r\n');
const CHUNKED = /\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n/i;
const LENGTH = /\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n/i;

/** Limits of an answer, and what keeps it within them: agents pay for every byte they are told. */

/** The most text of one answer, in bytes of UTF-8. What is longer comes in pages. */
export const ANSWER_BYTES = 40_000;
/** Left for what stands around a page of text: heading and how to go on. */
const MARGIN_BYTES = 1_000;
/** The most text of a page. */
export const PAGE_BYTES = ANSWER_BYTES - MARGIN_BYTES;

const encoder = new TextEncoder();

export function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/**
 * The part of a text from `offset` (in UTF-16 units) on that has at most `most` bytes. `next`: where the rest begins.
 */
export function sliceBytes(
  text: string,
  offset: number,
  most: number,
): { readonly text: string; readonly next?: number } {
  const rest = text.slice(offset, offset + most); // a unit has at least one byte
  // encodeInto stops before a character that does not fit, and never within one.
  const { read } = encoder.encodeInto(rest, new Uint8Array(most));
  const next = offset + read;
  return { text: rest.slice(0, read), ...(next < text.length ? { next } : {}) };
}

/** Where a range of `length` UTF-16 units from `offset` on ends: a character at its edge is not cut in half. */
export function endOfRange(text: string, offset: number, length: number): number {
  const end = Math.min(text.length, offset + length);
  return end < text.length && isHigh(text, end - 1) ? end + 1 : end;
}

function isHigh(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Counts what a page holds already. */
export class Room {
  #left: number;

  constructor(bytes = PAGE_BYTES) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  /** Takes a text or value (as JSON) when there is room for it. */
  take(value: unknown): boolean {
    const size = bytesOf(typeof value === 'string' ? value : JSON.stringify(value));
    if (size > this.#left) return false;
    this.#left -= size;
    return true;
  }
}

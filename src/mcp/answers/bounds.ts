/** Limits the size of responses, because agents pay for every byte they read. */

/** Maximum text of one response, in bytes of UTF-8. Longer text is paged. */
export const ANSWER_BYTES = 40_000;
/** Reserved for the text around a page: the heading and the cursor. */
const MARGIN_BYTES = 1_000;
/** Maximum text of a page. */
export const PAGE_BYTES = ANSWER_BYTES - MARGIN_BYTES;

const encoder = new TextEncoder();

export function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/**
 * Returns the part of a text from `offset` (in UTF-16 units) with at most `maxBytes` bytes. `next` is the offset of
 * the rest.
 */
export function sliceBytes(
  text: string,
  offset: number,
  maxBytes: number,
): { readonly text: string; readonly next?: number } {
  const rest = text.slice(offset, offset + maxBytes); // a unit has at least one byte
  // encodeInto stops before a character that does not fit, never within one.
  const { read } = encoder.encodeInto(rest, new Uint8Array(maxBytes));
  const next = offset + read;
  return { text: rest.slice(0, read), ...(next < text.length ? { next } : {}) };
}

/** Returns the end of a range of `length` UTF-16 units from `offset`, without splitting a character. */
export function endOfRange(text: string, offset: number, length: number): number {
  const end = Math.min(text.length, offset + length);
  return end < text.length && isHigh(text, end - 1) ? end + 1 : end;
}

function isHigh(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Tracks the remaining size of a page. */
export class Room {
  #left: number;

  constructor(bytes = PAGE_BYTES) {
    this.#left = bytes;
  }

  get left(): number {
    return this.#left;
  }

  /** Adds a text or value (as JSON) if it fits. Returns whether it does. */
  take(value: unknown): boolean {
    const size = bytesOf(typeof value === 'string' ? value : JSON.stringify(value));
    if (size > this.#left) return false;
    this.#left -= size;
    return true;
  }
}

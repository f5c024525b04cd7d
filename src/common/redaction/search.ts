/**
 * Finds many patterns in a text at once (the algorithm of Wu and Manber). It looks at few characters of the text: the
 * last two of a window as long as the shortest pattern tell how far the window may move.
 */
import type { Form } from './forms.ts';

interface Match {
  readonly start: number;
  readonly end: number;
  readonly form: Form;
}

/** Size of the table of pairs, a power of 2. */
const TABLE = 1 << 13;
/** Longer skips save nothing. */
const MAX_WINDOW = 64;
const NONE: readonly Form[] = [];

export class Search {
  readonly #forms: readonly Form[];
  /** Length of the shortest pattern. */
  readonly #window: number;
  /** By pair: how far the window may move. 0: a pattern may start here. */
  readonly #shift: Uint8Array;
  /** By the pair at the end of their window; the longest first. */
  readonly #candidates = new Map<number, Form[]>();
  /** By the last character of each proper beginning of a pattern: the beginning's length. */
  readonly #beginnings = new Map<number, { readonly form: Form; readonly length: number }[]>();

  /** Each form has at least 2 characters. */
  constructor(forms: readonly Form[]) {
    this.#forms = [...forms].sort((a, b) => b.text.length - a.text.length);
    const window = Math.min(MAX_WINDOW, ...forms.map(({ text }) => text.length));
    this.#window = window;
    this.#shift = new Uint8Array(TABLE).fill(window - 1);
    for (const form of this.#forms) {
      for (let at = 1; at < window; at++) {
        const pair = pairAt(form.text, at);
        this.#shift[pair] = Math.min(this.#shift[pair] ?? 0, window - 1 - at);
      }
      const last = pairAt(form.text, window - 1);
      this.#candidates.set(last, [...(this.#candidates.get(last) ?? NONE), form]);
      for (let length = 1; length < form.text.length; length++) {
        const code = form.text.charCodeAt(length - 1);
        const known = this.#beginnings.get(code);
        if (known === undefined) this.#beginnings.set(code, [{ form, length }]);
        else known.push({ form, length });
      }
    }
    for (const known of this.#beginnings.values()) known.sort((a, b) => b.length - a.length);
  }

  /** Returns the first match from `from` on, the longest of those that start there. */
  next(text: string, from: number): Match | undefined {
    const shift = this.#shift;
    const window = this.#window;
    const { length } = text;
    for (let at = from + window - 1; at < length; ) {
      const pair = pairAt(text, at);
      const skip = shift[pair] ?? 0;
      if (skip > 0) {
        at += skip;
        continue;
      }
      const start = at - window + 1;
      const form = this.#candidates.get(pair)?.find((candidate) => text.startsWith(candidate.text, start));
      if (form !== undefined) return { start, end: start + form.text.length, form };
      at++;
    }
    return undefined;
  }

  /** Returns where the text ends with the longest beginning of a pattern; its length if it does not. */
  openAt(text: string): number {
    if (text === '') return 0;
    for (const { form, length } of this.#beginnings.get(text.charCodeAt(text.length - 1)) ?? []) {
      if (text.endsWith(form.text.slice(0, length))) return Math.max(0, text.length - length - form.before);
    }
    return text.length;
  }
}

function pairAt(text: string, last: number): number {
  return ((text.charCodeAt(last - 1) << 6) ^ text.charCodeAt(last)) & (TABLE - 1);
}

/** Replaces secrets by their values, in texts and in the values of JSON. */
import { formsOf } from './forms.ts';
import { MIN_SECRET, secretsOf } from './hidable.ts';
import { Search } from './search.ts';
import { openEscape, type Unescaped, unescapeOnce } from './unescape.ts';

/** Replaces a secret wherever it would be stored or shown. */
export const REDACTED = '[redacted]';

/** Escapes inside escapes, e.g. JSON in a string of JSON that is percent-encoded. */
const MAX_DEPTH = 4;
/** A text of 64 hexadecimal digits is a hash. It may contain short numbers by accident. */
const HASH = /^[0-9a-f]{64}$/;
const MIN_IN_HASH = 12;
/** Base64 of bytes, such as log probabilities. It may contain short words by accident. */
const BASE64 = /^[A-Za-z0-9+/_-]{256,}=*$/;
const MIN_IN_BASE64 = 6;

/** The mark of a text that was shortened (see `shortened`). A secret may have been cut before it. */
const CUT = '…';

export interface Redactor {
  /** Whether there is nothing to hide. */
  readonly empty: boolean;
  /**
   * Replaces every form of every secret in a text, and what remains of one before the mark of a cut. Returns the text
   * itself if there is none.
   */
  text(text: string): string;
  /**
   * Replaces secrets in the strings and keys of a JSON value. Numbers never change. Returns the value itself if it has
   * no secret; changes nothing in place.
   */
  json<T>(value: T): T;
  /** Redacts a text whose rest was cut off: also what remains of a secret at its end. */
  cut(text: string): string;
  /** Overwrites every form of every secret in a text, which keeps its length. */
  masked(text: string): string;
  /** Redacts a text that goes on. `rest`: its end, withheld until more is known, because a secret may begin there. */
  beginning(text: string): { readonly text: string; readonly rest: string };
}

/** Hides nothing. */
export const NO_SECRETS: Redactor = {
  empty: true,
  text: (text) => text,
  cut: (text) => text,
  masked: (text) => text,
  json: (value) => value,
  beginning: (text) => ({ text, rest: '' }),
};

/** `values`: those that cannot be hidden (see `visibleReason`) are ignored. */
export function redactor(values: Iterable<string>): Redactor {
  const secrets = [...new Set([...values].flatMap(secretsOf))];
  if (secrets.length === 0) return NO_SECRETS;
  const forms = new Map(secrets.flatMap(formsOf).map((form) => [form.text, form]));
  return new ValueRedactor(new Search([...forms.values()]));
}

interface Range {
  readonly start: number;
  readonly end: number;
  /** Whether what follows could belong to it: the end of base64. */
  readonly open: boolean;
}

class ValueRedactor implements Redactor {
  readonly empty = false;
  readonly #search: Search;

  constructor(search: Search) {
    this.#search = search;
  }

  text(text: string): string {
    const clean = replaced(text, this.#find(text), () => REDACTED);
    return clean.includes(CUT) ? this.#cutEnds(clean) : clean;
  }

  cut(text: string): string {
    const { text: known, rest } = this.beginning(text);
    return known + (rest.length < MIN_SECRET ? rest : REDACTED);
  }

  masked(text: string): string {
    return replaced(text, this.#find(text), (length) => '*'.repeat(length));
  }

  json<T>(value: T): T {
    return this.#json(value) as T; // only strings and keys change
  }

  /** Hides what remains of secrets where a text was shortened. */
  #cutEnds(text: string): string {
    const pieces = text.split(CUT);
    return pieces
      .map((piece, index) => {
        if (index === pieces.length - 1) return piece;
        const open = this.#openAt(piece);
        return piece.length - open < MIN_SECRET ? piece : piece.slice(0, open) + REDACTED;
      })
      .join(CUT);
  }

  beginning(text: string): { readonly text: string; readonly rest: string } {
    const ranges = this.#find(text);
    let open = Math.min(this.#openAt(text), ...ranges.filter((range) => range.open).map(({ start }) => start));
    // The end of a secret may also be the beginning of one.
    for (const { start, end } of ranges) if (start < open && open < end) open = end;
    const known = ranges.filter(({ end }) => end <= open);
    return { text: replaced(text.slice(0, open), known, () => REDACTED), rest: text.slice(open) };
  }

  #openAt(text: string): number {
    // A form with escapes is not longer than this.
    const from = Math.max(0, text.length - TAIL);
    const layers: Unescaped[] = [];
    let open = text.length;
    let tail = text.slice(from);
    for (;;) {
      const known = tail.slice(0, openEscape(tail));
      const at = this.#search.openAt(known);
      if (at < tail.length) open = Math.min(open, from + original(layers, at, 'start'));
      const layer = layers.length < MAX_DEPTH ? unescapeOnce(known) : undefined;
      if (layer === undefined) return open;
      layers.push(layer);
      tail = layer.text;
    }
  }

  #json(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      let items: unknown[] | undefined;
      for (const [index, item] of value.entries()) {
        const clean = this.#json(item);
        if (clean !== item) (items ??= [...(value as unknown[])])[index] = clean;
      }
      return items ?? value;
    }
    return this.#object(value as Readonly<Record<string, unknown>>);
  }

  #object(value: Readonly<Record<string, unknown>>): unknown {
    let changed = false;
    const entries: [string, unknown][] = [];
    for (const key in value) {
      const name = this.text(key);
      const clean = this.#json(value[key]);
      if (name !== key || clean !== value[key]) changed = true;
      entries.push([name, clean]);
    }
    if (!changed) return value;
    // Two keys may have become the same: the later one gets a number.
    const names = new Set<string>();
    return Object.fromEntries(
      entries.map(([name, member]) => {
        let free = name;
        for (let count = 2; names.has(free); count++) free = `${name} ${count}`;
        names.add(free);
        return [free, member];
      }),
    );
  }

  /** Returns where secrets are, in order; they may overlap. */
  #find(text: string): readonly Range[] {
    const minLength =
      text.length === 64 && HASH.test(text) ? MIN_IN_HASH : text.length >= 256 && BASE64.test(text) ? MIN_IN_BASE64 : 0;
    let ranges: Range[] | undefined;
    const layers: Unescaped[] = [];
    let searched = text;
    for (;;) {
      for (let match = this.#search.next(searched, 0); match !== undefined; ) {
        const { before, after, text: form } = match.form;
        if (form.length >= minLength) {
          const start = Math.max(0, match.start - before);
          let end = Math.min(searched.length, match.end + after);
          if (after > 0) while (searched[end] === '=') end++;
          (ranges ??= []).push({
            start: original(layers, start, 'start'),
            end: original(layers, end, 'end'),
            open: after > 0 && end === searched.length,
          });
        }
        match = this.#search.next(searched, match.end);
      }
      const layer = layers.length < MAX_DEPTH ? unescapeOnce(searched) : undefined;
      if (layer === undefined) break;
      layers.push(layer);
      searched = layer.text;
    }
    if (ranges === undefined) return [];
    return layers.length === 0 ? ranges : ranges.sort((a, b) => a.start - b.start || b.end - a.end);
  }
}

function replaced(text: string, ranges: readonly Range[], replacement: (length: number) => string): string {
  if (ranges.length === 0) return text;
  let out = '';
  let at = 0;
  for (const { start, end } of ranges) {
    if (start >= at) out += text.slice(at, start) + replacement(end - start);
    else if (end > at) out += replacement(end - at);
    at = Math.max(at, end);
  }
  return out + text.slice(at);
}

/** How much of the end of a text is searched for the beginning of an escaped secret. */
const TAIL = 4096;

function original(layers: readonly Unescaped[], at: number, side: 'start' | 'end'): number {
  let position = at;
  for (let depth = layers.length - 1; depth >= 0; depth--) position = layers[depth]?.[side](position) ?? position;
  return position;
}

/** The state of the transcript: which parts are open, and what is searched for. The cursor is that of the page. */
import { Emitter, type Listen } from '../../../src/common/emitter.ts';
import type { TrajectoryModel } from '../../../src/trace/model.ts';
import type { Bindings } from '../../keys.ts';
import { type Content, contentOf } from './content.ts';
import { type Found, findIn } from './find.ts';
import { Outline } from './outline.ts';
import { placeOf, type TranscriptRow, TranscriptRows } from './rows.ts';

/** What it needs of the page. */
export interface TranscriptPage {
  readonly data: { readonly model: TrajectoryModel; liveText(span: number): string | undefined };
  /** The cursor. */
  readonly seq: number;
  go(seq: number): void;
}

/** Time per slice of a search, so that it delays no frame. */
const SLICE_MS = 8;

export class Transcript {
  readonly #page: TranscriptPage;
  readonly #changed = new Emitter<undefined>();
  readonly #opened = new Set<string>();
  #closed: ReadonlySet<number> = new Set();
  #rows: { readonly model: TrajectoryModel; readonly rows: TranscriptRows; readonly outline: Outline } | undefined;
  #query = '';
  #finding = false;
  #found: Found[] = [];
  #current = -1;
  /** Where the search was opened: its first match is the first from there on. */
  #origin = 0;
  /** seq of the last searched row, and the event that was the last at that time. */
  #searched = 0;
  #searchedTo = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(page: TranscriptPage) {
    this.#page = page;
  }

  /** The first and the last event on the screen. */
  inView: { readonly from: number; readonly to: number } | undefined;
  /** Scrolls so that a row is in the middle; set while the transcript is shown. */
  scroller: ((index: number) => void) | undefined;
  readonly #scrolled = new Emitter<undefined>();

  readonly scrolled: Listen<undefined> = (listener) => this.#scrolled.event(listener);

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  get #all(): TranscriptRows {
    return this.#ofModel().rows;
  }

  #ofModel(): { readonly rows: TranscriptRows; readonly outline: Outline } {
    const { model } = this.#page.data;
    if (this.#rows?.model !== model)
      this.#rows = { model, rows: new TranscriptRows(model), outline: new Outline(model) };
    return this.#rows;
  }

  /** Returns the outline, with the divergence at `split`. */
  outline(split: number | undefined): ReturnType<Outline['entries']> {
    return this.#ofModel().outline.entries(split);
  }

  /** The rows that are not inside a closed sub-agent. */
  get shown(): readonly TranscriptRow[] {
    return this.#all.shown(this.#closed);
  }

  /** Index of the cursor in `shown`; −1 if there are no rows. */
  get index(): number {
    return this.indexOf(this.#page.seq);
  }

  /** Returns the index of the row in `shown` that shows an event, or the closed sub-agent around it. */
  indexOf(seq: number): number {
    const row = this.#all.rowOf(seq);
    if (row === undefined) return -1;
    const outermost = this.#all.around(row).findLast((agent) => this.#closed.has(agent));
    return placeOf(this.shown, outermost ?? row.seq);
  }

  contentOf(row: TranscriptRow): Content {
    const { data } = this.#page;
    return contentOf(data.model, row, (span) => data.liveText(span));
  }

  // ---- the cursor

  readonly row = (distance: number): void => {
    const { shown, index } = this;
    const { model } = this.#page.data;
    const to = index + distance;
    const row = shown[Math.max(0, Math.min(shown.length - 1, to))];
    // Beyond a part that was loaded first, the page loads the next one.
    if (model.skipped !== undefined && (to < 0 || to >= shown.length))
      this.#page.go(to < 0 ? model.skipped.to : model.last + 1);
    else if (row !== undefined) this.#page.go(row.seq);
  };

  /** Scrolls to an event. The cursor stays where it is. */
  scrollTo(seq: number): void {
    this.scroller?.(this.indexOf(seq));
  }

  /** Called with the indexes of the first and the last row on the screen. */
  showing(first: number, last: number): void {
    const { shown } = this;
    const from = shown[first]?.seq;
    if (from === undefined) return;
    const to = (shown[last + 1]?.seq ?? this.#page.data.model.last + 1) - 1;
    if (this.inView?.from === from && this.inView.to === to) return;
    this.inView = { from, to };
    this.#scrolled.fire(undefined);
  }

  // ---- parts that open and close

  isOpen(key: string): boolean {
    return this.#opened.has(key);
  }

  open(key: string, on: boolean): void {
    if (on) this.#opened.add(key);
    else this.#opened.delete(key);
    this.#changed.fire(undefined);
  }

  isClosed(agent: number): boolean {
    return this.#closed.has(agent);
  }

  /** Opens or closes a sub-agent as a whole. */
  openAgent(agent: number, on: boolean): void {
    const closed = new Set(this.#closed);
    if (on) closed.delete(agent);
    else closed.add(agent);
    this.#closed = closed;
    this.#changed.fire(undefined);
  }

  /** Opens what is closed in the row of the cursor, or closes all of it. */
  readonly toggle = (): void => {
    const row = this.shown[this.index];
    if (row === undefined) return;
    if (row.kind === 'agent') {
      this.openAgent(row.seq, this.isClosed(row.seq));
      return;
    }
    const keys = keysOf(this.contentOf(row));
    const isAnyClosed = keys.some((key) => !this.isOpen(key));
    for (const key of keys) {
      if (isAnyClosed) this.#opened.add(key);
      else this.#opened.delete(key);
    }
    this.#changed.fire(undefined);
  };

  // ---- find

  get finding(): boolean {
    return this.#finding;
  }

  get query(): string {
    return this.#query;
  }

  /** The matches so far, in order. */
  get found(): readonly Found[] {
    return this.#found;
  }

  /** Index of the current match; −1 for none. */
  get current(): number {
    return this.#current;
  }

  /** Whether all rows have been searched. */
  get searchedAll(): boolean {
    return this.#query === '' || this.#searchedTo === this.#page.data.model.last;
  }

  readonly openFind = (): void => {
    this.#origin = this.#page.seq;
    this.#finding = true;
    this.#changed.fire(undefined);
  };

  readonly closeFind = (): void => {
    this.#finding = false;
    this.search('');
  };

  search(query: string): void {
    this.#query = query;
    this.#found = [];
    this.#current = -1;
    this.#searched = 0;
    this.#searchedTo = 0;
    clearTimeout(this.#timer);
    if (query !== '') this.#slice();
    this.#changed.fire(undefined);
  }

  /** Searches new events, too. */
  advance(): void {
    if (this.#timer === undefined && !this.searchedAll) this.#slice();
  }

  /** Goes to the next or the previous match, and opens what hides it. */
  next(distance: 1 | -1): void {
    const { length } = this.#found;
    if (length > 0) this.#show((this.#current + distance + length) % length);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #slice(): void {
    this.#timer = undefined;
    const { all } = this.#all;
    const until = performance.now() + SLICE_MS;
    // The last row is searched again, because it may have grown.
    let at = Math.max(0, placeOf(all, this.#searched));
    const from = all[at]?.seq ?? 0;
    const keep = this.#found.findIndex((found) => found.seq >= from);
    if (keep !== -1) this.#found.length = keep;
    for (; at < all.length && performance.now() < until; at++) {
      const row = all[at];
      if (row === undefined) continue;
      this.#found.push(...findIn(row.seq, this.contentOf(row), this.#query));
      this.#searched = row.seq;
    }
    if (at >= all.length) this.#searchedTo = this.#page.data.model.last;
    else this.#timer = setTimeout(() => this.#slice(), 0);
    if (this.#current === -1 && this.#found.length > 0) {
      const origin = this.#all.rowOf(this.#origin)?.seq ?? 0;
      const first = this.#found.findIndex((found) => found.seq >= origin);
      if (first !== -1 || at >= all.length) this.#show(Math.max(0, first));
    } else if (at >= all.length && this.#found.length === 0 && this.#finding) this.#page.go(this.#origin);
    this.#changed.fire(undefined);
  }

  #show(index: number): void {
    const found = this.#found[index];
    if (found === undefined) return;
    this.#current = index;
    this.#opened.add(found.part);
    const row = this.#all.rowOf(found.seq);
    const around = row === undefined ? [] : this.#all.around(row);
    if (around.some((agent) => this.#closed.has(agent)))
      this.#closed = new Set([...this.#closed].filter((agent) => !around.includes(agent)));
    this.#page.go(found.seq);
    this.#changed.fire(undefined);
  }

  /** Keys that mean something else here than in the list of steps. */
  readonly keys: Bindings = {
    j: () => this.row(1),
    k: () => this.row(-1),
    ArrowDown: () => this.row(1),
    ArrowUp: () => this.row(-1),
    x: this.toggle,
    '/': this.openFind,
    'mod+f': this.openFind,
  };
}

/** Returns the keys of the parts that open and close. */
function keysOf({ blocks }: Content): string[] {
  return blocks.flatMap((block) => {
    if (block.kind === 'folded') return [block.key];
    if (block.kind === 'call') return [block.args.key, ...(block.result === undefined ? [] : [block.result.key])];
    return [];
  });
}

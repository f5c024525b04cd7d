/** One look at a trajectory: the cursor in it, where it was before, the tab, whether the head is followed. */
import { errorText } from '../../src/common/errors.ts';
import { Emitter, type Listen } from '../../src/common/emitter.ts';
import type { PageAction, PagePlace } from '../../src/protocol/page.ts';
import { failure, difference, into, out, positionOf, sameTool, step } from '../../src/trace/cursor.ts';
import { say } from '../components/notices/notice.tsx';
import { TrajectoryData } from '../data/trajectoryData.ts';
import type { Host } from '../host/host.ts';
import { Folds, type Fold } from './steps/folds.ts';
import { isShown, StepRows, type Filter, type Row } from './steps/rows.ts';
import { TABS, type Tab, type TrajectoryView } from './view.ts';

type TrajectoryPlace = Extract<PagePlace, { page: 'trajectory' }>;

export class TrajectorySession implements TrajectoryView {
  readonly host: Host;
  readonly readOnly: boolean;
  readonly data: TrajectoryData;
  readonly rows: StepRows;
  readonly #folds: Folds;
  seq = 0;
  before = 0;
  tab: Tab;
  following: boolean;
  /** Whether more was to come when it was last looked at: its end is followed too, while one that had ended before begins at its first step. */
  #live = false;
  /** Kinds of rows that are shown; none = all. */
  only: ReadonlySet<Filter> = new Set();
  readonly #changed = new Emitter<undefined>();
  readonly #watch: { dispose(): void };
  /** Where the place of the page asks to go, until the events are there. */
  #wanted: { seq?: number; step?: number } | undefined;
  #past: number[] = [];
  #future: number[] = [];
  #shown: { readonly only: ReadonlySet<Filter>; readonly taken: number; readonly rows: readonly Row[] } | undefined;

  constructor(host: Host, readOnly: boolean, place: TrajectoryPlace) {
    this.host = host;
    this.readOnly = readOnly;
    this.data = new TrajectoryData(host, place.rollout);
    this.rows = new StepRows(this.data.model);
    this.#folds = new Folds(this.data.model);
    this.tab = TABS.find((tab) => tab === place.tab) ?? 'call';
    this.#wanted = wantedOf(place);
    this.following = this.#wanted === undefined;
    this.#watch = this.data.changed(() => this.#advance());
  }

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  /** seq that is waited for; undefined when nothing is. */
  get waitingFor(): number | undefined {
    return this.#wanted?.seq ?? (this.#wanted?.step === undefined ? undefined : 0);
  }

  /** Rows of the kinds that are shown, those in folds as well. */
  get #ofKinds(): readonly Row[] {
    const { all } = this.rows;
    if (this.only.size === 0) return all;
    if (this.#shown?.only !== this.only || this.#shown.taken !== this.data.model.last) {
      this.#shown = { only: this.only, taken: this.data.model.last, rows: all.filter((row) => isShown(this.data.model, row, this.only)) };
    }
    return this.#shown.rows;
  }

  /** Rows that are shown; of a closed fold its first. */
  get shown(): readonly Row[] {
    return this.#folds.shown(this.#ofKinds);
  }

  /** Index among the rows that are shown; −1 where the selected one is not. */
  get index(): number {
    const at = this.#indexOf(this.seq);
    return at === -1 ? -1 : this.#folds.placeOf(at);
  }

  /** The fold that a row is the first of. */
  foldOf(row: Row): Fold | undefined {
    return this.#folds.foldOf(row);
  }

  /** Opens or closes the fold around the selected row. Tells whether there was something to do. */
  fold(open: boolean): boolean {
    const at = this.#indexOf(this.seq);
    if (at === -1 || !this.#folds.open(at, open)) return false;
    const first = this.#ofKinds[this.#folds.firstOf(at)];
    if (!open && first !== undefined) this.go(StepRows.cursorOf(first));
    this.#tell();
    return true;
  }

  /** Index of a place among the rows of the kinds that are shown. */
  #indexOf(seq: number): number {
    const { shown } = this; // brings the folds up to date
    const at = this.rows.indexOf(seq);
    if (this.only.size === 0 || shown.length === 0) return at;
    const row = this.rows.all[at];
    return row === undefined ? -1 : this.#ofKinds.indexOf(row);
  }

  /** The page was asked to go somewhere within this trajectory. */
  visit(place: TrajectoryPlace): void {
    const tab = TABS.find((name) => name === place.tab);
    if (tab !== undefined) this.tab = tab;
    this.#wanted = wantedOf(place) ?? this.#wanted;
    this.#advance();
  }

  go(seq: number): void {
    const to = positionOrSelf(this, seq);
    this.#wanted = undefined;
    if (to === this.seq) {
      this.follow(false);
      return;
    }
    if (this.seq !== 0) this.#past.push(this.seq);
    this.#future = [];
    this.#select(to);
  }

  show(tab: Tab): void {
    this.tab = tab;
    this.#tell();
  }

  follow(on: boolean): void {
    if (on === this.following) return;
    this.following = on;
    if (on) this.#advance();
    this.#tell();
  }

  filter(only: ReadonlySet<Filter>): void {
    this.only = only;
    this.#tell();
  }

  act(action: PageAction): void {
    const done = { copy: 'Copied', link: 'Link copied', save: 'Saved' }[action.do as string];
    this.host.act(action).then(() => {
      if (done !== undefined) say(done);
    }, (error: unknown) => say(errorText(error)));
  }

  /** The attempts at the task of this one, side by side. */
  compare(): void {
    const row = this.data.info?.row;
    if (row !== undefined) this.act({ do: 'open', place: { page: 'compare', batch: row.batch, task: row.task } });
  }

  say(text: string): void {
    say(text);
  }

  // ---- moves of the keyboard

  row(distance: number): void {
    const { shown } = this;
    const row = shown[Math.max(0, Math.min(shown.length - 1, this.index + distance))];
    if (row !== undefined) this.go(StepRows.cursorOf(row));
  }

  end(which: 'first' | 'last'): void {
    const row = which === 'first' ? this.shown[0] : this.shown.at(-1);
    if (row !== undefined) this.go(StepRows.cursorOf(row));
  }

  readonly into = (): void => {
    if (!this.fold(true)) this.#to(into(this.data.model, this.seq), 'There is nothing inside.');
  };
  readonly out = (): void => {
    if (!this.fold(false)) this.#out();
  };
  readonly #out = (): void => this.#to(out(this.data.model, this.seq), 'This is at the top.');
  readonly step = (distance: 1 | -1): void => this.#to(step(this.data.model, this.seq, distance), distance === 1 ? 'This is the last step.' : 'This is the first step.');
  readonly failure = (distance: 1 | -1): void => this.#to(failure(this.data.model, this.seq, distance), distance === 1 ? 'No error after this.' : 'No error before this.');
  readonly sameTool = (): void => this.#to(sameTool(this.data.model, this.seq, 1), 'This is the last call of this tool.');
  readonly difference = (): void => this.#to(difference(this.data.model, this.seq), 'Nothing differs after this.');

  /** Where the cursor was before, as in an editor. */
  back(): void {
    const to = this.#past.pop();
    if (to === undefined) return;
    this.#future.push(this.seq);
    this.#select(to);
  }

  forward(): void {
    const to = this.#future.pop();
    if (to === undefined) return;
    this.#past.push(this.seq);
    this.#select(to);
  }

  close(): void {
    this.#watch.dispose();
    this.data.close();
  }

  #to(seq: number | undefined, otherwise: string): void {
    if (seq === undefined) say(otherwise);
    else this.go(seq);
  }

  /** After new events: goes where the place asked to, follows the head, or selects the first thing there is. */
  #advance(): void {
    const { model } = this.data;
    if (this.#wanted !== undefined) {
      const to = this.#wanted.seq ?? (this.#wanted.step === undefined ? undefined : model.step(this.#wanted.step)?.seq);
      const reached = to !== undefined && to <= model.last;
      if (!reached && this.data.loading === 'loading') return;
      this.#wanted = undefined;
      this.#select(reached ? positionOrSelf(this, to) : this.#last());
      return;
    }
    const wasLive = this.#live;
    this.#live = !this.data.ended && this.data.loading === 'head';
    if (this.following && (this.#live || wasLive)) this.#move(this.#last(), true);
    else if (this.seq === 0) this.#move(this.#firstRow(), this.following);
  }

  #firstRow(): number {
    const row = this.rows.all.find(({ kind }) => kind === 'step') ?? (this.data.loading === 'head' ? this.rows.all[0] : undefined);
    return row === undefined ? 0 : StepRows.cursorOf(row);
  }

  #last(): number {
    const row = this.rows.all.at(-1);
    return row === undefined ? 0 : StepRows.cursorOf(row);
  }

  /** Goes to a place that was asked for: it is not left inside a closed fold. */
  #select(to: number): void {
    const at = this.#indexOf(to);
    if (at > 0 && at !== this.#folds.firstOf(at)) this.#folds.open(at, true);
    this.#move(to, false);
  }

  #move(to: number, following: boolean): void {
    if (to === this.seq && following === this.following) return;
    this.before = this.seq;
    this.seq = to;
    this.following = following;
    this.#tell();
  }

  #tell(): void {
    const { info, rollout } = this.data;
    const title = info === undefined ? 'Trajectory' : `${info.row.task} · ${info.row.attempt}`;
    this.host.at({ page: 'trajectory', rollout, ...(this.seq === 0 || this.following ? {} : { seq: this.seq }), ...(this.tab === 'call' ? {} : { tab: this.tab }) }, title);
    this.#changed.fire(undefined);
  }
}

function wantedOf({ seq, step: index }: TrajectoryPlace): { seq?: number; step?: number } | undefined {
  if (seq !== undefined && seq > 0) return { seq };
  return index === undefined ? undefined : { step: index };
}

/** Rows of other events than starts and messages are places too. */
function positionOrSelf(session: TrajectorySession, seq: number): number {
  const row = session.rows.all[session.rows.indexOf(seq)];
  return row !== undefined && row.seq === seq ? StepRows.cursorOf(row) === seq || session.data.model.parentOf(seq) !== undefined ? seq : StepRows.cursorOf(row) : (positionOf(session.data.model, seq) ?? seq);
}

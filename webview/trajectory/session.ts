/** The state of a trajectory page: the cursor and its history, the tab, and whether it follows the head. */

import { Emitter, type Listen } from '../../src/common/emitter.ts';
import { errorText } from '../../src/common/errors.ts';
import type { PageAction, PagePlace, PageVerb } from '../../src/protocol/page.ts';
import { difference, into, out, positionOf, sameTool, step } from '../../src/trace/cursor.ts';
import { say } from '../components/notices/notice.tsx';
import { type Place, placeIn } from '../data/around.ts';
import type { Split } from '../data/split.ts';
import { TrajectoryData } from '../data/trajectoryData.ts';
import type { Host } from '../host/host.ts';
import { PageDebug } from './debug/pageDebug.ts';
import { laterDifferences } from './differences.ts';
import { type Choice, Look } from './look.ts';
import { reasonOf } from './reason.ts';
import { redMark, type Spot } from './redMarks.ts';
import type { Fold } from './steps/folds.ts';
import type { Match } from './steps/marked.tsx';
import { type Filter, type Row, StepRows } from './steps/rows.ts';
import { Transcript } from './transcript/transcript.ts';
import { SCORE_TABS, TABS, type Tab, type TrajectoryView } from './view.ts';

type TrajectoryPlace = Extract<PagePlace, { page: 'trajectory' }>;

export class TrajectorySession implements TrajectoryView {
  readonly host: Host;
  readonly readOnly: boolean;
  readonly data: TrajectoryData;
  readonly debug: PageDebug;
  readonly can: ReadonlySet<PageVerb>;
  readonly transcript: Transcript;
  /** Whether the transcript replaces the steps; undefined until the place or the user says so. */
  #reading: boolean | undefined;
  readonly #choice: Choice = { only: new Set(), toggled: new Set() };
  readonly #whole: Look;
  /** The rows of the events around a place that was loaded first. */
  #part: Look | undefined;
  seq = 0;
  check: number | undefined;
  before = 0;
  found: Match | undefined;
  tab: Tab;
  following: boolean;
  /**
   * Whether events were still expected at the last update. A live trajectory is followed to its end; one that has ended
   * opens at its first step.
   */
  #live = false;
  readonly #changed = new Emitter<undefined>();
  readonly #watches: { dispose(): void }[];
  /** The target of a navigation, until its events are loaded. */
  #target: Place | undefined;
  #past: Spot[] = [];
  #future: Spot[] = [];
  /** Whether the page still looks for the reason at which it opens; ended by the first move. */
  #opening = true;
  /** Seqs of differences after the split, once they were requested. */
  #differences: { readonly split: Split; readonly seqs: Promise<readonly number[]> } | undefined;

  constructor(host: Host, readOnly: boolean, can: ReadonlySet<PageVerb>, place: TrajectoryPlace) {
    this.host = host;
    this.readOnly = readOnly;
    this.can = can;
    this.data = new TrajectoryData(host, place.rollout);
    this.debug = new PageDebug(this);
    this.#whole = new Look(this.data.whole, this.#choice);
    this.tab = TABS.find((tab) => tab === place.tab) ?? 'call';
    this.transcript = new Transcript(this);
    this.#readAt(place);
    this.#target = targetOf(place);
    this.following = this.#target === undefined;
    this.#watches = [this.data.changed(() => this.#advance()), this.data.onEvents(() => this.#whole.advance())];
    if (this.#target !== undefined) this.data.seek(this.#target);
  }

  readonly changed: Listen<undefined> = (listener) => this.#changed.event(listener);

  /** The seq that is loading; undefined if none is. */
  get waitingFor(): number | undefined {
    return this.#target?.seq ?? (this.#target?.step === undefined ? undefined : 0);
  }

  /** The rows and lanes of all loaded events, or of those around a place that was loaded first. */
  get look(): Look {
    const { model } = this.data;
    if (model === this.#whole.model) this.#part = undefined;
    else if (this.#part?.model !== model) this.#part = new Look(model, this.#choice);
    return this.#part ?? this.#whole;
  }

  get rows(): StepRows {
    return this.look.rows;
  }

  /** Kinds of visible rows; empty means all. */
  get only(): ReadonlySet<Filter> {
    return this.#choice.only;
  }

  /** Visible rows; only the first row of a collapsed fold. */
  get shown(): readonly Row[] {
    return this.look.shown;
  }

  /** Index of the cursor in the visible rows; −1 if it is hidden. */
  get index(): number {
    return this.look.indexOf(this.seq, this.check);
  }

  /** Returns the row that an event belongs to, among all loaded events. */
  rowAt(seq: number): Row | undefined {
    return this.#whole.rowOf(seq);
  }

  /** Marks a search match in the list, or clears the mark. */
  mark(found: Match | undefined): void {
    this.found = found;
    this.#notify();
  }

  /** Returns the fold that starts with a row. */
  foldOf(row: Row): Fold | undefined {
    return this.look.foldOf(row);
  }

  /** Expands or collapses the fold around the selected row. Returns whether anything changed. */
  fold(open: boolean): boolean {
    const first = this.look.fold(this.seq, open);
    if (first === undefined) return false;
    if (!open) this.goToRow(first);
    this.#notify();
    return true;
  }

  /** Navigates to a place in this trajectory. */
  visit(place: TrajectoryPlace): void {
    const tab = TABS.find((name) => name === place.tab);
    if (tab !== undefined) this.tab = tab;
    this.#readAt(place);
    const target = targetOf(place);
    if (target === undefined) this.#advance();
    else this.#seek(target);
  }

  go(seq: number, check?: number): void {
    this.#opening = false;
    if (!this.#isHere(seq)) {
      this.#seek({ seq });
      return;
    }
    const to = { seq: positionOrSelf(this, seq), check };
    this.#target = undefined;
    if (to.seq === this.seq && check === this.check) {
      this.follow(false);
      return;
    }
    if (this.seq !== 0) this.#past.push(this.#spot);
    this.#future = [];
    this.#select(to);
  }

  show(tab: Tab): void {
    this.tab = tab;
    this.#reading = false;
    this.#notify();
  }

  /** Shows the tab at an index, from left to right. */
  showTab(index: number): void {
    const tabs = this.data.model.event(this.seq)?.kind === 'score' ? SCORE_TABS : TABS;
    const tab = tabs[index];
    if (tab !== undefined) this.show(tab);
  }

  /** Whether the page shows the transcript. A recording without times has little else to show. */
  get reading(): boolean {
    return this.#reading ?? !this.data.model.timed;
  }

  /** The tab as part of a place: the transcript takes the place of a tab. */
  get tabPlace(): Pick<TrajectoryPlace, 'tab'> {
    if (this.reading) return { tab: 'transcript' };
    return this.tab === 'call' && this.data.model.timed ? {} : { tab: this.tab };
  }

  /** Shows the transcript, or the steps. */
  read(on: boolean): void {
    this.#reading = on;
    this.#notify();
  }

  #readAt({ tab }: TrajectoryPlace): void {
    if (tab !== undefined) this.#reading = tab === 'transcript';
  }

  follow(on: boolean): void {
    if (on === this.following) return;
    this.following = on;
    if (on) this.#advance();
    this.#notify();
  }

  filter(only: ReadonlySet<Filter>): void {
    this.#choice.only = only;
    this.#notify();
  }

  act(action: PageAction): void {
    const done = { copy: 'Copied', link: 'Link copied', save: 'Saved' }[action.do as string];
    this.host.act(action).then(
      () => {
        if (done !== undefined) say(done);
      },
      (error: unknown) => say(errorText(error)),
    );
  }

  /** Opens all attempts of this task, side by side. */
  compare(): void {
    const row = this.data.info?.row;
    if (row !== undefined) this.act({ do: 'open', place: { page: 'compare', batch: row.batch, task: row.task } });
  }

  say(text: string): void {
    say(text);
  }

  goToRow(row: Row): void {
    this.go(StepRows.cursorOf(row), row.check);
  }

  /** The row of the cursor. */
  get current(): Row | undefined {
    return this.look.rowOf(this.seq, this.check);
  }

  get #spot(): Spot {
    return { seq: this.seq, check: this.check };
  }

  // ---- keyboard navigation

  row(distance: number): void {
    const { shown, index } = this;
    const { model } = this.data;
    const to = index + distance;
    if (model.skipped !== undefined && (to < 0 || to >= shown.length)) {
      this.#seek({ seq: to < 0 ? model.skipped.to : model.last + 1 });
      return;
    }
    const row = shown[Math.max(0, Math.min(shown.length - 1, to))];
    if (row !== undefined) this.goToRow(row);
  }

  end(which: 'first' | 'last'): void {
    if (which === 'first') this.data.showWhole();
    else if (!this.#isHere(this.data.last)) {
      this.#seek({ seq: this.data.last });
      return;
    }
    const row = which === 'first' ? this.shown[0] : this.shown.at(-1);
    if (row !== undefined) this.goToRow(row);
  }

  readonly into = (): void => {
    if (this.fold(true)) return;
    const row = this.current;
    const first = row?.kind === 'score' ? this.shown[this.index + 1] : undefined;
    if (first?.kind === 'check') this.goToRow(first);
    else this.#to(this.check === undefined ? into(this.data.model, this.seq) : undefined, 'There is nothing inside.');
  };
  readonly out = (): void => {
    if (!this.fold(false)) this.#out();
  };
  readonly #out = (): void => this.#to(out(this.data.model, this.seq), 'Already at the top.');
  readonly step = (distance: 1 | -1): void =>
    this.#to(
      step(this.data.model, this.seq, distance),
      distance === 1 ? 'This is the last step.' : 'This is the first step.',
    );
  readonly failure = (distance: 1 | -1): void => {
    const mark = redMark(this.data.model, this.#spot, distance);
    this.#to(mark?.seq, distance === 1 ? 'No more errors.' : 'No earlier errors.', mark?.check);
  };
  readonly sameTool = (): void =>
    this.#to(sameTool(this.data.model, this.seq, 1), 'This is the last call of this tool.');
  readonly changedCall = (): void => this.#to(difference(this.data.model, this.seq), 'No more changed calls.');

  /** Goes to the divergence from the nearest passed attempt, then to later differences from it. */
  readonly difference = (distance: 1 | -1): void => {
    const { split } = this.data;
    const none = distance === 1 ? 'No more differences.' : 'No earlier differences.';
    if (split === undefined) say(this.data.ended ? 'No passed attempt to compare with.' : none);
    else if (distance === 1 && this.seq < split.seq) this.go(split.seq);
    else {
      if (this.#differences?.split !== split) this.#differences = { split, seqs: laterDifferences(this.data, split) };
      this.debug.run(
        this.#differences.seqs.then((later) => {
          const all = [split.seq, ...later];
          this.#to(distance === 1 ? all.find((seq) => seq > this.seq) : all.findLast((seq) => seq < this.seq), none);
        }),
      );
    }
  };

  /** Goes to the previous position of the cursor. */
  back(): void {
    const to = this.#past.pop();
    if (to === undefined) return;
    this.#future.push(this.#spot);
    this.#select(to);
  }

  forward(): void {
    const to = this.#future.pop();
    if (to === undefined) return;
    this.#past.push(this.#spot);
    this.#select(to);
  }

  close(): void {
    for (const watch of this.#watches) watch.dispose();
    this.debug.close();
    this.transcript.stop();
    this.data.close();
  }

  #to(seq: number | undefined, otherwise: string, check?: number): void {
    if (seq === undefined) say(this.data.loading === 'loading' ? 'Not found in the events loaded so far.' : otherwise);
    else this.go(seq, check);
  }

  /** Handles new events: goes to the pending target, follows the head, or selects the first row. */
  #advance(): void {
    const { model } = this.data;
    if (this.#target !== undefined) {
      const to = placeIn(model, this.#target);
      const reached = to !== undefined;
      if (!reached && this.data.loading === 'loading') return;
      this.#target = undefined;
      this.#select({ seq: reached ? positionOrSelf(this, to) : this.#last() });
      return;
    }
    const wasLive = this.#live;
    this.#live = !this.data.ended && this.data.loading === 'head';
    if (this.following && (this.#live || wasLive)) {
      this.#opening = false;
      this.#move({ seq: this.#last() }, true);
    } else if (this.seq === 0) this.#move({ seq: this.#firstRow() }, this.following);
    if (this.#opening && this.data.loading === 'head' && this.data.ended) this.#open();
  }

  /** Selects the reason why the attempt did not pass, as soon as it is known. */
  #open(): void {
    const { spot, final } = reasonOf(this.data);
    if (final) this.#opening = false;
    if (spot === undefined) return;
    this.look.reveal(spot.seq, spot.check);
    this.#move(spot, this.following);
  }

  #firstRow(): number {
    const row =
      this.rows.all.find(({ kind }) => kind === 'step') ??
      (this.data.loading === 'head' ? this.rows.all[0] : undefined);
    return row === undefined ? 0 : StepRows.cursorOf(row);
  }

  #last(): number {
    const row = this.rows.all.at(-1);
    return row === undefined ? 0 : StepRows.cursorOf(row);
  }

  /** Returns whether an event can be shown now, or everything is loaded. */
  #isHere(seq: number): boolean {
    return this.data.loading !== 'loading' || this.data.model.event(seq) !== undefined;
  }

  /** Goes to a place as soon as it is loaded. */
  #seek(place: Place): void {
    this.#target = place;
    this.data.seek(place);
    this.#advance();
  }

  /** Selects a place, and expands the fold that contains it. */
  #select(to: Spot): void {
    if (!this.#isHere(to.seq)) {
      this.#seek({ seq: to.seq });
      return;
    }
    this.#opening = false;
    this.look.reveal(to.seq, to.check);
    this.#move(to, false);
  }

  #move({ seq, check }: Spot, following: boolean): void {
    if (seq === this.seq && check === this.check && following === this.following) return;
    this.before = this.seq;
    this.seq = seq;
    this.check = check;
    this.following = following;
    this.#notify();
  }

  #notify(): void {
    const { info, rollout } = this.data;
    const title = info === undefined ? 'Trajectory' : `${info.row.task} · ${info.row.attempt}`;
    this.host.setPlace(
      {
        page: 'trajectory',
        rollout,
        ...(this.seq === 0 || this.following ? {} : { seq: this.seq }),
        ...this.tabPlace,
      },
      title,
    );
    this.#changed.fire(undefined);
  }
}

function targetOf({ seq, step: index }: TrajectoryPlace): Place | undefined {
  if (seq !== undefined && seq > 0) return { seq };
  return index === undefined ? undefined : { step: index };
}

/** Returns the position to select for an event. Rows other than starts and messages are positions too. */
function positionOrSelf(session: TrajectorySession, seq: number): number {
  const row = session.rows.all[session.rows.indexOf(seq)];
  return row !== undefined && row.seq === seq
    ? StepRows.cursorOf(row) === seq || session.data.model.parentOf(seq) !== undefined
      ? seq
      : StepRows.cursorOf(row)
    : (positionOf(session.data.model, seq) ?? seq);
}

/** The state of a trajectory page: the cursor and its history, the tab, and whether it follows the head. */

import { Emitter, type Listen } from '../../src/common/emitter.ts';
import type { PageAction, PagePlace, PageVerb } from '../../src/protocol/page.ts';
import { positionOf } from '../../src/trace/cursor.ts';
import { actAndSay } from '../components/notices/actAndSay.ts';
import { say } from '../components/notices/notice.tsx';
import { type Place, placeIn } from '../data/around.ts';
import { TrajectoryData } from '../data/trajectoryData.ts';
import type { Host } from '../host/host.ts';
import { PageDebug } from './debug/pageDebug.ts';
import { type Choice, Look } from './look.ts';
import { Moves } from './moves.ts';
import { reasonOf } from './reason.ts';
import type { Spot } from './redMarks.ts';
import type { Fold } from './steps/folds.ts';
import type { Match } from './steps/marked.tsx';
import { type Filter, type Row, StepRows } from './steps/rows.ts';
import { titleOf } from './title.ts';
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
  readonly moves: Moves;
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
  #target: (Place & Pick<Spot, 'check'>) | undefined;
  /** The last place and title that the host knows. */
  #reported = '';
  #past: Spot[] = [];
  #future: Spot[] = [];
  /** Whether the page still looks for the reason at which it opens; ended by the first move. */
  #opening = true;
  /** The requested fork, until its place and the batch are loaded. */
  #fork: Pick<TrajectoryPlace, 'seq'> | undefined;

  constructor(host: Host, readOnly: boolean, can: ReadonlySet<PageVerb>, place: TrajectoryPlace) {
    this.host = host;
    this.readOnly = readOnly;
    this.can = can;
    this.data = new TrajectoryData(host, place.rollout);
    this.debug = new PageDebug(this);
    this.#whole = new Look(this.data.whole, this.#choice);
    this.tab = TABS.find((tab) => tab === place.tab) ?? 'call';
    this.transcript = new Transcript(this);
    this.moves = new Moves(this);
    this.#readAt(place);
    this.#target = targetOf(place);
    this.following = this.#target === undefined;
    this.#watches = [
      this.data.changed(() => {
        this.#advance();
        this.#openFork();
        this.#report();
      }),
      this.data.onEvents(() => this.#whole.advance()),
      host.predictions.changed(() => this.#notify()),
    ];
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
    this.#fork = place.fork === true ? place : undefined;
    const target = targetOf(place);
    if (target === undefined) this.#advance();
    else this.#seek(target);
    this.#openFork();
  }

  /** Opens the form of a requested fork: at its place, or at the last step. */
  #openFork(): void {
    const { batch, loading, model } = this.data;
    if (this.#fork === undefined || batch === undefined || loading === 'loading' || this.#target !== undefined) return;
    const seq = this.#fork.seq ?? model.steps.at(-1)?.seq;
    this.#fork = undefined;
    if (seq !== undefined) this.go(seq);
    this.debug.forkSelected();
  }

  go(seq: number, check?: number): void {
    if (this.data.trimmed !== undefined) return; // there is nothing to go to
    this.#opening = false;
    if (!this.has(seq)) {
      this.#seek({ seq, check });
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
    actAndSay(this.host, action);
  }

  /** Opens this attempt next to the others of its task. */
  compare(): void {
    if (this.debug.trimmed !== undefined) {
      this.say(this.debug.trimmed);
      return;
    }
    const row = this.data.info?.row;
    if (row === undefined) return;
    const { batch, task, rollout } = row;
    this.act({ do: 'open', place: { page: 'compare', batch, task, rollout } });
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

  // ---- history

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

  /** Handles new events: goes to the pending target, follows the head, or selects the first row. */
  #advance(): void {
    const { model, trimmed } = this.data;
    if (trimmed !== undefined) {
      this.#target = undefined;
      return;
    }
    if (this.#target !== undefined) {
      const { check } = this.#target;
      const to = placeIn(model, this.#target);
      const reached = to !== undefined;
      if (!reached && this.data.loading === 'loading') return;
      this.#target = undefined;
      this.#select(reached ? { seq: positionOrSelf(this, to), check } : { seq: this.#last() });
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
  has(seq: number): boolean {
    return this.data.loading !== 'loading' || this.data.model.event(seq) !== undefined;
  }

  /** Goes to a place as soon as it is loaded. */
  #seek(place: Place & Pick<Spot, 'check'>): void {
    this.#target = place;
    this.data.seek(place);
    this.#advance();
  }

  /** Selects a place, and expands the fold that contains it. */
  #select(to: Spot): void {
    if (!this.has(to.seq)) {
      this.#seek(to);
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
    this.#report();
    this.#changed.fire(undefined);
  }

  /** Reports the place and the title to the host, which keeps them for a reload. */
  #report(): void {
    if (this.#target !== undefined) return; // A reload has to go there, too.
    const { data, seq, check } = this;
    const place = {
      page: 'trajectory',
      rollout: data.rollout,
      ...(seq === 0 || this.following ? {} : { seq, ...(check === undefined ? {} : { check }) }),
      ...this.tabPlace,
    } as const;
    const title = titleOf(data);
    const report = JSON.stringify([place, title]);
    if (report === this.#reported) return;
    this.#reported = report;
    this.host.setPlace(place, title);
  }
}

function targetOf({ seq, check, step: index }: TrajectoryPlace): (Place & Pick<Spot, 'check'>) | undefined {
  if (seq !== undefined && seq > 0) return { seq, check };
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

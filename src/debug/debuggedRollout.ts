/** One rollout in a debug session: its cursor, the text of its trajectory, and the edits that wait for a fork. */

import type { ForkEdit } from '../config/submission.ts';
import { type Place, Stops } from '../trace/stops.ts';
import { RolloutCursor } from './cursor.ts';
import type { Debuggee, Head } from './debuggee.ts';
import type { ToolPlaces } from './sources/toolPlaces.ts';
import { TrajectoryDocument } from './sources/trajectoryDocument.ts';

export class DebuggedRollout {
  readonly debuggee: Debuggee;
  readonly places: ToolPlaces;
  /** Whether this session launched it, and ends it. */
  readonly own: boolean;
  readonly limits: Readonly<Record<string, number>>;
  readonly document: TrajectoryDocument;
  /** Edits of recorded events, applied by the next fork. */
  pending: ForkEdit[] = [];
  /** Stops the current run through the recording. */
  running: AbortController | undefined;
  /** Whether the client does not know it yet. */
  quiet = false;
  /** The head as last reported to the client. */
  reportedHead: Head | undefined;
  #cursor: RolloutCursor | undefined;

  constructor(debuggee: Debuggee, places: ToolPlaces, limits: Readonly<Record<string, number>>, own: boolean) {
    this.debuggee = debuggee;
    this.own = own;
    this.places = places;
    this.limits = limits;
    this.document = new TrajectoryDocument(debuggee.model, `${this.title} · ${debuggee.rollout}`);
  }

  get title(): string {
    return `${this.debuggee.task.id} · attempt ${this.debuggee.attempt}`;
  }

  /** The cursor; undefined until there is a place for it. */
  get cursor(): RolloutCursor | undefined {
    const { model, task } = this.debuggee;
    const { first } = Stops.of(model);
    if (this.#cursor === undefined && first !== undefined) this.#cursor = new RolloutCursor(model, task, first);
    return this.#cursor;
  }

  /** The current place; undefined while it runs. */
  get place(): Place | undefined {
    return this.debuggee.head === undefined ? undefined : this.cursor?.place;
  }

  /** The tool, if it is held before a tool call. */
  get heldCall(): string | undefined {
    const { head, model } = this.debuggee;
    const span = head?.side === 'before' ? model.span(head.place.seq) : undefined;
    return span?.kind === 'tool' ? span.start.data.name : undefined;
  }

  /** Whether the cursor is at the rollout's own position, not elsewhere in its recording. */
  get atHead(): boolean {
    const head = this.debuggee.head?.place;
    const place = this.cursor?.place;
    return head !== undefined && place !== undefined && head.seq === place.seq && head.at === place.at;
  }
}

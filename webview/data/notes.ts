/** Bookmarks and notes of a batch, from the events of its stream. An empty text removes earlier ones. */
import type { AnyEvent } from '../../src/trace/model.ts';
import type { EventOf } from '../../src/trace/schema.ts';

type Note = EventOf<'note'>;

export class NoteBook {
  readonly #changed: () => void;
  readonly #notes: Note[] = [];

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  add(events: readonly AnyEvent[]): void {
    for (const event of events) {
      if ('unknown' in event || event.kind !== 'note') continue;
      const { rollout, seq, label, text } = event.data;
      const same = (note: Note): boolean =>
        note.data.rollout === rollout && note.data.seq === seq && note.data.label === label;
      if (text === '') {
        for (let i = this.#notes.length - 1; i >= 0; i--) {
          const note = this.#notes[i];
          if (note !== undefined && same(note)) this.#notes.splice(i, 1);
        }
      } else if (label !== 'bookmark' || !this.#notes.some(same)) {
        this.#notes.push(event);
      }
      this.#changed();
    }
  }

  /** Returns the bookmarks and notes of a rollout, ordered by seq. */
  of(rollout: string): readonly Note[] {
    return this.#notes
      .filter((note) => note.data.rollout === rollout)
      .sort((a, b) => (a.data.seq ?? 0) - (b.data.seq ?? 0));
  }

  isBookmarked(rollout: string, seq: number): boolean {
    return this.#notes.some(({ data }) => data.rollout === rollout && data.seq === seq && data.label === 'bookmark');
  }

  /** Returns the notes at an event. */
  at(rollout: string, seq: number): readonly Note[] {
    return this.#notes.filter(({ data }) => data.rollout === rollout && data.seq === seq && data.label === 'note');
  }

  /** Rollouts with bookmarks or notes. */
  get rollouts(): ReadonlySet<string> {
    return new Set(this.#notes.flatMap(({ data }) => data.rollout ?? []));
  }
}

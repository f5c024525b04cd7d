/** Bookmarks and notes of a batch, as its stream tells them: the newest word on a place stands. */
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

  /** Of one rollout, by place. */
  of(rollout: string): readonly Note[] {
    return this.#notes
      .filter((note) => note.data.rollout === rollout)
      .sort((a, b) => (a.data.seq ?? 0) - (b.data.seq ?? 0));
  }

  bookmarked(rollout: string, seq: number): boolean {
    return this.#notes.some(({ data }) => data.rollout === rollout && data.seq === seq && data.label === 'bookmark');
  }

  at(rollout: string, seq: number): readonly Note[] {
    return this.#notes.filter(({ data }) => data.rollout === rollout && data.seq === seq && data.label === 'note');
  }

  /** Rollouts that have any. */
  get rollouts(): ReadonlySet<string> {
    return new Set(this.#notes.flatMap(({ data }) => data.rollout ?? []));
  }
}

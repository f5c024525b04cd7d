/** The changes of the world: by row, by span, and by seq. */
import type { Json } from '../../common/json.ts';
import type { Change, EventOf } from '../schema.ts';
import { countUpTo } from './search.ts';

/** A row of a table, or a file, that differs from the start. */
export interface ChangedRow {
  readonly table?: string;
  readonly file?: string;
  readonly key: Json;
  /** Compared with the state at the start. */
  readonly op: Change['op'];
  readonly before?: Json;
  readonly after?: Json;
  /** seqs of the `world.diff` events that changed it. */
  readonly seqs: readonly number[];
}

interface History {
  readonly changes: Change[];
  readonly seqs: number[];
}

export class ChangeLog {
  readonly #rows = new Map<string, History>();
  readonly #all: EventOf<'world.diff'>[] = [];
  readonly #bySpan = new Map<number, EventOf<'world.diff'>[]>();

  get all(): readonly EventOf<'world.diff'>[] {
    return this.#all;
  }

  /** Returns the changes that belong to a span. */
  of(span: number): readonly EventOf<'world.diff'>[] {
    return this.#bySpan.get(span) ?? [];
  }

  add(event: EventOf<'world.diff'>): void {
    this.#all.push(event);
    const { span } = event;
    if (span !== undefined) {
      const diffs = this.#bySpan.get(span);
      if (diffs === undefined) this.#bySpan.set(span, [event]);
      else diffs.push(event);
    }
    for (const change of event.data.changes) {
      const name = rowName(change);
      let history = this.#rows.get(name);
      if (history === undefined) this.#rows.set(name, (history = { changes: [], seqs: [] }));
      history.changes.push(change);
      history.seqs.push(event.seq);
    }
  }

  /**
   * Returns all rows that the recording knows, as they are at `seq`: those that changed so far, and those that change
   * later, as they were at the start. What never changes is in no recording.
   */
  knownAt(seq: number): ChangedRow[] {
    return [...this.#rows.values()].flatMap((history) => rowAt(history, seq) ?? unchangedRow(history, seq) ?? []);
  }

  /** Returns the rows that differ at `seq` from the start, by `rowName`, in the order of their first change. */
  at(seq: number): ReadonlyMap<string, ChangedRow> {
    const rows = new Map<string, ChangedRow>();
    for (const [name, history] of this.#rows) {
      const row = rowAt(history, seq);
      if (row !== undefined) rows.set(name, row);
    }
    return rows;
  }
}

/** Returns a unique name for the changed row: JSON of table, file, and key. */
export function rowName(change: Pick<Change, 'table' | 'file' | 'key'>): string {
  return JSON.stringify([change.table ?? null, change.file ?? null, change.key]);
}

function rowAt(history: History, seq: number): ChangedRow | undefined {
  const count = countUpTo(history.seqs, seq);
  const first = history.changes[0];
  const last = history.changes[count - 1];
  if (first === undefined || last === undefined) return undefined;
  const existed = first.op !== 'insert';
  const exists = last.op !== 'delete';
  if (!existed && !exists) return undefined; // inserted and deleted again
  return {
    ...(first.table === undefined ? {} : { table: first.table }),
    ...(first.file === undefined ? {} : { file: first.file }),
    key: first.key,
    op: existed ? (exists ? 'update' : 'delete') : 'insert',
    ...(existed && first.before !== undefined ? { before: first.before } : {}),
    ...(exists && last.after !== undefined ? { after: last.after } : {}),
    seqs: history.seqs.slice(0, count),
  };
}

/** Returns a row that changes only after `seq`. undefined: it does not exist there. */
function unchangedRow({ changes: [first], seqs }: History, seq: number): ChangedRow | undefined {
  if (first?.before === undefined || first.op === 'insert' || countUpTo(seqs, seq) > 0) return undefined;
  const { table, file, key, before } = first;
  return {
    ...(table === undefined ? {} : { table }),
    ...(file === undefined ? {} : { file }),
    ...{ key, op: 'update', before, after: before, seqs: [] },
  };
}

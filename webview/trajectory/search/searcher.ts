/** Searches all events of a trajectory in time slices, so that the page stays responsive. */
import { errorText } from '../../../src/common/errors.ts';
import type { Query } from '../../../src/trace/query.ts';
import { loadQuery } from '../../data/query.ts';
import type { TrajectoryData } from '../../data/trajectoryData.ts';

/** Longest a slice may take. */
const SLICE_MS = 12;

export interface SearchResult {
  readonly text: string;
  /** How the text was understood, or what is wrong with it. */
  readonly explain: string;
  readonly problem?: string;
  /** Seqs of matching events, ascending. */
  readonly found: readonly number[];
  /** Seqs of the rows of these events. */
  readonly rows: ReadonlySet<number>;
  /** What is looked for as it stands; none where a condition is. */
  readonly words: readonly string[];
  readonly done: boolean;
}

/**
 * Tells of what it found after each slice, and goes on with what comes, until the signal aborts. `rowOf`: the row that
 * an event belongs to, by its seq.
 */
export async function search(
  data: TrajectoryData,
  rowOf: (seq: number) => number | undefined,
  text: string,
  onResult: (result: SearchResult) => void,
  signal: AbortSignal,
): Promise<void> {
  const found: number[] = [];
  const rows = new Set<number>();
  let query: Query;
  const { compileQuery, environmentOf } = await loadQuery();
  try {
    query = compileQuery(text);
  } catch (error) {
    onResult({ text, explain: '', problem: errorText(error), found, rows, words: [], done: true });
    return;
  }
  const model = data.whole; // also while a part of it is looked at
  let seq = 1;
  while (!signal.aborted) {
    const until = performance.now() + SLICE_MS;
    while (seq <= model.last && performance.now() < until) {
      if (query.matches(environmentOf(model, seq, data.info?.task)).matched) {
        found.push(seq);
        const row = rowOf(seq);
        if (row !== undefined) rows.add(row);
      }
      seq += 1;
    }
    const caughtUp = seq > model.last;
    onResult({
      text,
      explain: query.explain,
      found,
      rows,
      words: query.words ?? [],
      done: caughtUp && data.loading !== 'loading',
    });
    await (caughtUp ? next(data, signal) : new Promise((resolve) => setTimeout(resolve)));
  }
}

/** Until there is more, or the signal aborts. */
function next(data: TrajectoryData, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      changed.dispose();
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const changed = data.changed(finish);
    signal.addEventListener('abort', finish, { once: true });
  });
}

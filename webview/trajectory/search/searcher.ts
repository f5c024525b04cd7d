/** Searches all events of a trajectory in time slices, so that the page stays responsive. */
import { errorText } from '../../../src/common/errors.ts';
import type { Query } from '../../../src/trace/query.ts';
import { loadQuery } from '../../data/query.ts';
import type { TrajectoryData } from '../../data/trajectoryData.ts';

/** Maximum duration of a slice. */
const SLICE_MS = 12;

export interface SearchResult {
  readonly text: string;
  /** How the text was interpreted, or what is invalid. */
  readonly explain: string;
  readonly problem?: string;
  /** Seqs of matching events, ascending. */
  readonly found: readonly number[];
  /** Seqs of the rows of these events. */
  readonly rows: ReadonlySet<number>;
  /** The words to highlight; empty for a condition. */
  readonly words: readonly string[];
  readonly done: boolean;
}

/**
 * Reports the matches after each slice, and continues with new events, until the signal aborts. `rowOf` returns the row
 * of an event, by seq.
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
    onResult({
      text,
      explain: '',
      problem: error instanceof Error ? error.message : errorText(error),
      found,
      rows,
      words: [],
      done: true,
    });
    return;
  }
  const model = data.whole; // All events, even while only a part is shown.
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

/** Resolves when there are new events, or the signal aborts. */
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

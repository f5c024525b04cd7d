/** Searches all events of a trajectory, a slice at a time, so that the page can be used meanwhile. */
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
  /** seqs of the events that match, ascending. */
  readonly found: readonly number[];
  readonly done: boolean;
}

/** Tells of what it found after each slice, until the signal aborts. */
export async function search(data: TrajectoryData, text: string, onResult: (result: SearchResult) => void, signal: AbortSignal): Promise<void> {
  const found: number[] = [];
  let query: Query;
  const { compileQuery, environmentOf } = await loadQuery();
  try {
    query = compileQuery(text);
  } catch (error) {
    onResult({ text, explain: '', problem: errorText(error), found, done: true });
    return;
  }
  const { model } = data;
  let seq = 1;
  while (!signal.aborted) {
    const until = performance.now() + SLICE_MS;
    while (seq <= model.last && performance.now() < until) {
      if (query.matches(environmentOf(model, seq, data.info?.task)).matched) found.push(seq);
      seq += 1;
    }
    const done = seq > model.last;
    onResult({ text, explain: query.explain, found: [...found], done });
    if (done) return;
    await new Promise((resolve) => setTimeout(resolve));
  }
}

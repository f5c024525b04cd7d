/** Counts attempts that did not pass by error class. */
import { each, type Piecewise } from '../../../src/common/piecewise.ts';
import { type Outcome, outcomeOf } from '../../../src/trace/outcome.ts';
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { errorLabel } from '../../../src/trace/text/labels.ts';

interface ErrorBar {
  readonly name: string;
  readonly outcome: Outcome;
  readonly count: number;
  /** The filter part that matches these attempts. */
  readonly filter: string;
}

export interface ErrorBars {
  /** Most frequent first. */
  readonly bars: readonly ErrorBar[];
  readonly notPassed: number;
  readonly ended: number;
}

export function* errorBars(rows: Iterable<RolloutRow>): Piecewise<ErrorBars> {
  const bars = new Map<string, { name: string; outcome: Outcome; count: number; filter: string }>();
  let notPassed = 0;
  let ended = 0;
  yield* each(rows, (row) => {
    if (row.state !== 'ended') return;
    const outcome = outcomeOf(row);
    if (outcome === 'cancelled') return;
    ended += 1;
    if (outcome === 'passed') return;
    notPassed += 1;
    const { error_class: error } = row.progress;
    const key = `${outcome} ${error ?? ''}`;
    const bar = bars.get(key);
    if (bar !== undefined) {
      bar.count += 1;
      return;
    }
    const name = error === undefined ? (outcome === 'failed' ? 'wrong answer' : outcome) : errorLabel(error);
    bars.set(key, { name, outcome, count: 1, filter: error === undefined ? `outcome:${outcome}` : `error:${error}` });
  });
  return { bars: [...bars.values()].sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1)), notPassed, ended };
}

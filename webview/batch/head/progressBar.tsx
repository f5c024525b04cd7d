/** A bar of attempts by outcome, with the number as text. */
import { nounFor } from '../../../src/common/text.ts';
import { count } from '../../../src/common/units.ts';
import { OUTCOMES, type Outcome } from '../../../src/trace/outcome.ts';
import type { Counts } from '../model/taskFacts.ts';

/** In this order along the bar; the rest is empty. */
const SHOWN: readonly Outcome[] = OUTCOMES.filter((outcome) => outcome !== 'queued');

export function ProgressBar({ counts, total }: { readonly counts: Counts; readonly total: number }) {
  return (
    <span class="batch-progress" aria-hidden="true">
      {SHOWN.map(
        (outcome) =>
          counts[outcome] > 0 &&
          total > 0 && (
            <i key={outcome} class={`of-${outcome}`} style={{ width: `${(100 * counts[outcome]) / total}%` }} />
          ),
      )}
    </span>
  );
}

/** Read as one phrase: “31/96 attempts”. */
export function ProgressText({ done, total }: { readonly done: number; readonly total: number }) {
  return (
    <span class="batch-stat" role="status" aria-label="Progress" aria-live="off">
      <b>{count(done)}</b>
      <span class="batch-dim">
        /{count(total)} {nounFor(total, 'attempt')}
      </span>
    </span>
  );
}

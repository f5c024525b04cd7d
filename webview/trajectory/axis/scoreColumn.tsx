/** The last column of the time axis: the score, with a red mark for each failed check. */
import { checksOf } from '../../../src/trace/checkRows.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import { checkOrder } from '../redMarks.ts';
import type { TrajectorySession } from '../session.ts';

/** The title has the count of all failed checks. */
const MAX_MARKS = 4;

export function ScoreColumn({ session }: { readonly session: TrajectorySession }) {
  const score = session.data.model.scores.at(-1);
  if (score === undefined) return null;
  const checks = checksOf(score.data);
  const failed = checkOrder(checks).filter((check) => checks[check]?.passed === false);
  const { passed } = score.data;
  const text =
    checks.length > 0
      ? `Score: ${failed.length} of ${checks.length} checks failed`
      : `Score: ${passed === true ? 'passed' : passed === false ? 'failed' : 'not scored'}`;
  return (
    <button
      type="button"
      class={`axis-score${session.seq === score.seq ? ' is-selected' : ''}`}
      title={text}
      aria-label={text}
      onClick={() => session.go(score.seq, failed[0])}
    >
      <span>score</span>
      <span class="axis-score-marks">
        {failed.length === 0 ? (
          <Glyph outcome={passed === true ? 'passed' : passed === false ? 'failed' : 'unscored'} />
        ) : (
          failed.slice(0, MAX_MARKS).map((check) => <Glyph key={check} outcome="failed" />)
        )}
      </span>
    </button>
  );
}

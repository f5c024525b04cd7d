/** What each scorer and person says about an attempt. */
import type { RolloutRow } from '../../../src/trace/summary.ts';
import { isDisputed, recordedRow } from '../../data/judged.ts';
import { Disagreement, VerdictList } from '../../verdicts/verdictList.tsx';
import { verdictTexts } from '../../verdicts/verdictTexts.ts';
import type { Outline } from '../model/outline.ts';

interface VerdictsProps {
  readonly row: RolloutRow;
  readonly outline: Outline | undefined;
  /** Opens the rollout whose scorer said it. Absent: nothing is a link. */
  readonly onOpen?: (rollout: string) => void;
}

/** Nothing if only the reward judges the attempt. */
export function AttemptVerdicts({ row, outline, onOpen }: VerdictsProps) {
  const texts = verdictTexts(recordedRow(row), outline?.score, Date.now());
  if (texts.length === 0) return null;
  return (
    <section class="attempt-verdicts">
      <h2>Verdicts</h2>
      {isDisputed(row) && <Disagreement />}
      <VerdictList texts={texts} {...(onOpen === undefined ? {} : { onOpen })} />
    </section>
  );
}

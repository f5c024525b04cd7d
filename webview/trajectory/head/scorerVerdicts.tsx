/** Shows what each scorer and person says about the rollout, next to its reward. */

import { disagrees } from '../../../src/trace/verdicts.ts';
import { Disagreement, VerdictList } from '../../verdicts/verdictList.tsx';
import { verdictTexts } from '../../verdicts/verdictTexts.ts';
import { currentRow } from '../reason.ts';
import type { TrajectorySession } from '../session.ts';
import './scorerVerdicts.css';

export function ScorerVerdicts({ session }: { readonly session: TrajectorySession }) {
  const { data } = session;
  const row = currentRow(data);
  if (row === undefined) return null;
  const texts = verdictTexts(row, data.model.scores.at(-1)?.data, Date.now());
  if (texts.length === 0) return null;
  return (
    <section class="scorer-verdicts" aria-label="Verdicts of all scorers">
      {disagrees(row) && <Disagreement />}
      <VerdictList
        texts={texts}
        onOpen={(rollout) => session.act({ do: 'open', place: { page: 'trajectory', rollout } })}
      />
    </section>
  );
}

/** Takes the place of the steps of a trajectory that was trimmed: what happened to it, and the results, which stay. */
import { TRIMMED_HINT, type Trimmed, trimmedText } from '../../src/common/trimmed.ts';
import { checksOf } from '../../src/trace/checkRows.ts';
import { EmptyState } from '../components/notices/emptyState.tsx';
import { AnswerTab, ChecksSection, ScoreSection } from './detail/score/scoreTabs.tsx';
import type { TrajectoryView } from './view.ts';
import './trimmedTrajectory.css';

export function TrimmedTrajectory({ view, trimmed }: { readonly view: TrajectoryView; readonly trimmed: Trimmed }) {
  const event = view.data.model.scores.at(-1);
  return (
    <div class="trimmed-trajectory" tabIndex={0} role="group" aria-label="Results">
      <EmptyState icon="archive" title="Steps are no longer stored" text={`${trimmedText(trimmed)} ${TRIMMED_HINT}`} />
      {event !== undefined && (
        <>
          <ChecksSection checks={checksOf(event.data)} title="Checks" onOpen={undefined} />
          <ScoreSection score={event.data} />
          <section class="detail-section" aria-label="Answer">
            <header class="section-head">
              <h3>Answer</h3>
            </header>
            <AnswerTab view={view} subject={{ kind: 'score', event, check: undefined, step: undefined }} />
          </section>
        </>
      )}
    </div>
  );
}

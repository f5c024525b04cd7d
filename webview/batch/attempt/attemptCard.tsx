/** A short summary of one attempt, next to the grid. */
import type { BatchActions } from '../batchActions.ts';
import type { BatchView, CellAt } from '../batchView.ts';
import { AttemptKeys, AttemptTitle, Divergence, Reason, Times } from './attemptParts.tsx';
import { AttemptVerdicts } from './attemptVerdicts.tsx';
import { recordSource, useRecord } from './record/useRecord.ts';
import './attempt.css';

const MAX_CHECKS = 4;

interface CardProps {
  readonly view: BatchView;
  readonly cell: CellAt;
  readonly actions: BatchActions;
}

export function AttemptCard({ view, cell, actions }: CardProps) {
  const row = view.row(cell.index, cell.attempt);
  const { reader } = useRecord(recordSource(view, cell), row);
  const question = view.data.records[cell.index]?.question.trim() ?? '';
  return (
    <div class="attempt-card">
      <section>
        <AttemptTitle view={view} cell={cell} />
        {question !== '' && <p class="attempt-question">{question}</p>}
      </section>
      <Reason view={view} row={row} reader={reader} maxRows={MAX_CHECKS} expandable={false} />
      {row !== undefined && <AttemptVerdicts row={row} outline={reader?.outline} />}
      {row !== undefined && row.state !== 'queued' && <Times row={row} outline={reader?.outline} />}
      <Divergence reader={reader} />
      <AttemptKeys view={view} cell={cell} actions={actions} />
    </div>
  );
}

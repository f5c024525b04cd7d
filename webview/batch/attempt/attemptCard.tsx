/** A short summary of one attempt, next to the grid. */
import type { BatchView, CellAt } from '../batchView.ts';
import { AttemptTitle, Divergence, Reason, Times } from './attemptParts.tsx';
import { recordSource, useRecord } from './record/useRecord.ts';
import './attempt.css';

const MAX_CHECKS = 4;

interface CardProps {
  readonly view: BatchView;
  readonly cell: CellAt;
  /** Whether another page can be opened from here, and links copied. */
  readonly canOpen: boolean;
  readonly canLink: boolean;
}

export function AttemptCard({ view, cell, canOpen, canLink }: CardProps) {
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
      {row !== undefined && row.state !== 'queued' && <Times row={row} outline={reader?.outline} />}
      <Divergence reader={reader} />
      <section class="attempt-keys">
        {row !== undefined && canOpen && <Key name="↵">open</Key>}
        {view.width > 1 && canOpen && <Key name="C">compare</Key>}
        <Key name="Y">copy {canLink && row !== undefined ? 'link' : 'reference'}</Key>
      </section>
    </div>
  );
}

function Key({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <span>
      <kbd>{name}</kbd> {children}
    </span>
  );
}

/** A short summary of one attempt: next to the pointer, or docked below a narrow grid. */

import { compact, duration } from '../../../src/common/units.ts';
import { Glyph } from '../../components/marks/glyph.tsx';
import type { BatchView, CellAt } from '../batchView.ts';
import { verdictOf } from '../model/cellText.ts';
import { outcomeAt } from '../model/taskFacts.ts';
import './attempt.css';

export function AttemptCard({ view, cell }: { readonly view: BatchView; readonly cell: CellAt }) {
  const row = view.row(cell.index, cell.attempt);
  return (
    <div class="attempt-card">
      <AttemptTitle view={view} cell={cell} />
      {row !== undefined && <Verdict row={row} />}
      {row !== undefined && (
        <dl class="attempt-facts">
          <Fact name="steps" value={String(row.progress.steps)} />
          <Fact name="time" value={row.progress.ms === undefined ? undefined : duration(row.progress.ms)} />
          <Fact name="tokens" value={compact(row.progress.input_tokens + row.progress.output_tokens)} />
          <Fact name="tools" value={row.progress.tools.length === 0 ? undefined : row.progress.tools.join(', ')} />
        </dl>
      )}
      <div class="attempt-keys">
        <span>
          <kbd>↵</kbd> open
        </span>
        <span>
          <kbd>Space</kbd> keep
        </span>
        <span>
          <kbd>Y</kbd> copy reference
        </span>
      </div>
    </div>
  );
}

export function AttemptTitle({ view, cell: { index, attempt } }: { readonly view: BatchView; readonly cell: CellAt }) {
  const name = view.taskName(index);
  return (
    <div class="attempt-title">
      <Glyph outcome={outcomeAt(view.row(index, attempt))} size={14} />
      <span class="attempt-name" title={name}>
        {name}
      </span>
      <span class="attempt-number">
        attempt {attempt}/{view.width}
      </span>
    </div>
  );
}

export function Verdict({ row }: { readonly row: Parameters<typeof verdictOf>[0] }) {
  const { head, text } = verdictOf(row);
  return (
    <div class="attempt-verdict">
      <div class="attempt-verdict-head">{head}</div>
      {text !== undefined && <div class="attempt-verdict-text">{text}</div>}
    </div>
  );
}

/** Shows a fact, or nothing if its value is unknown. */
export function Fact({ name, value }: { readonly name: string; readonly value: string | undefined }) {
  if (value === undefined) return null;
  return (
    <div class="attempt-fact">
      <dt>{name}</dt>
      <dd title={value}>{value}</dd>
    </div>
  );
}

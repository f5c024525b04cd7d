/** One figure of the run: its name, a small chart, and its value. */
import type { ComponentChildren } from 'preact';
import './run.css';

export function RunRow({
  name,
  value,
  hint,
  title,
  children,
}: {
  readonly name: string;
  readonly value: ComponentChildren;
  /** Says in one word what the value is. */
  readonly hint?: string | undefined;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="run-row" title={title}>
      <span class="batch-dim">{name}</span>
      <span class="run-chart">{children}</span>
      <span class="run-value">
        {hint !== undefined && <span class="batch-dim">{hint} </span>}
        <b>{value}</b>
      </span>
    </div>
  );
}

/** One of the boxes between the head and the grid. */
import type { ComponentChildren } from 'preact';
import './panels.css';

export function Panel({
  name,
  title,
  note,
  children,
}: {
  readonly name: string;
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  return (
    <section class={`batch-panel is-${name}`} aria-label={title}>
      <div class="batch-panel-head">
        <h2>{title}</h2>
        <span class="batch-panel-note" title={typeof note === 'string' ? note : undefined}>
          {note}
        </span>
      </div>
      {children}
    </section>
  );
}

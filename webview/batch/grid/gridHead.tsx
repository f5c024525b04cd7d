/** The head of the grid: column names, and the numbers of the attempts. */

import type { BatchView } from '../batchView.ts';
import type { Sort } from '../model/arrange.ts';
import { attemptsSeen, type Layout, numbered } from '../model/geometry.ts';
import { ColumnHeads } from './columnHeads.tsx';

/** Estimated width of a digit, in pixels. */
const DIGIT = 6;

interface GridHeadProps {
  readonly view: BatchView;
  readonly layout: Layout;
  readonly left: number;
}

export function GridHead({ view, layout, left }: GridHeadProps) {
  const { from, to } = attemptsSeen(layout, left);
  const shows = numbered(layout);
  const under = (view.hover ?? (view.cursor?.on === 'cell' ? view.cursor : undefined))?.attempt;
  const room = layout.width - layout.cells;
  const fits = (attempt: number): boolean =>
    (attempt - 0.5) * layout.cell - left <= room - (String(attempt).length * DIGIT) / 2;
  const attempts: number[] = [];
  for (let attempt = from; attempt < to; attempt++) {
    if (attempt === under || (shows(attempt) && fits(attempt) && !tooNear(attempt, under, layout.cell)))
      attempts.push(attempt);
  }
  return (
    <div class="batch-grid-head" role="row" aria-rowindex={1}>
      <SortHead view={view} sort="task" text="task" column={1} left={layout.name - (layout.name > 20 ? 12 : 0)} />
      <SortHead
        view={view}
        sort="rate"
        text={layout.barWidth === 0 ? 'passed' : 'pass rate'}
        column={2}
        left={layout.barWidth === 0 ? layout.rate : layout.bar}
      />
      <div class="batch-grid-numbers" role="presentation" style={{ left: `${layout.cells}px` }}>
        {attempts.map((attempt) => (
          <span
            key={attempt}
            role="columnheader"
            aria-colindex={attempt + 2}
            aria-label={`attempt ${attempt}`}
            class={attempt === under ? 'on' : undefined}
            style={{ left: `${(attempt - 1) * layout.cell - left + layout.cell / 2}px` }}
          >
            {attempt}
          </span>
        ))}
      </div>
      <ColumnHeads view={view} layout={layout} />
    </div>
  );
}

/** Estimated width of a number, in pixels. */
function tooNear(attempt: number, under: number | undefined, cell: number): boolean {
  return under !== undefined && attempt !== under && Math.abs(attempt - under) * cell < 20;
}

function SortHead({
  view,
  sort,
  text,
  column,
  left,
}: {
  readonly view: BatchView;
  readonly sort: Sort;
  readonly text: string;
  readonly column: number;
  readonly left: number;
}) {
  const on = view.sort === sort;
  return (
    <div
      role="columnheader"
      aria-colindex={column}
      aria-sort={on ? (sort === 'task' ? 'ascending' : 'descending') : 'none'}
      class="batch-grid-sort"
      style={{ left: `${left}px` }}
      title={`Sort by ${text}`}
      onClick={() => view.arrangeBy({ sort })}
    >
      {text}
      {on && <span class={`batch-grid-arrow ${sort === 'task' ? 'up' : 'down'}`} aria-hidden="true" />}
    </div>
  );
}

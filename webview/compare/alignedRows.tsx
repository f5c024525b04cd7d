/** Attempts side by side: a row per aligned action, a column per attempt. */
import type { VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { ComparedAttempt } from '../../src/trace/align/attempt.ts';
import type { AlignedRow, Alignment, Cell } from '../../src/trace/align/columns.ts';
import { callDifferences } from '../../src/trace/align/differences.ts';
import { actionText, differenceText, sourcesText } from '../../src/trace/align/label.ts';
import { Glyph } from '../components/marks/glyph.tsx';
import { VirtualList } from '../components/virtualList.tsx';

const ROW = 44;
/** Minimum width of a column. */
const COLUMN = 208;
const SIGNS: Readonly<Record<Cell['state'], readonly [string, string]>> = {
  same: ['=', 'same call'],
  arguments: ['≈', 'different arguments'],
  text: ['~', 'different text'],
  tool: ['≠', 'different tool'],
  missing: ['', 'missing'],
};

export interface Spot {
  readonly row: number;
  readonly column: number;
}

interface AlignedRowsProps {
  readonly attempts: readonly ComparedAttempt[];
  /** Returns the heading of an attempt's column. */
  readonly nameOf: (index: number) => string;
  readonly alignment: Alignment;
  /** Visible columns, as indexes into the attempts. */
  readonly columns: readonly number[];
  /** `column`: an index into `columns`. */
  readonly spot: Spot;
  readonly onRow: (row: number) => void;
  /** `column`: an index into `columns`. */
  readonly onColumn: (column: number) => void;
  readonly onOpen: (spot: Spot) => void;
}

export function AlignedRows({ attempts, nameOf, alignment, columns, spot, onRow, onColumn, onOpen }: AlignedRowsProps) {
  const whole = useRef<HTMLDivElement>(null);
  const heads = useRef<HTMLDivElement>(null);
  const [first, last] = useVisibleColumns(whole, columns.length);
  useEffect(
    () => heads.current?.children[spot.column]?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
    [spot.column, columns],
  );
  const { rows, firstSplit } = alignment;
  const grid = { gridTemplateColumns: `repeat(${columns.length}, minmax(${COLUMN}px, 1fr))` };
  return (
    <div class="compare-rows" style={{ minWidth: `${columns.length * COLUMN}px` }} ref={whole}>
      <div class="compare-heads" style={grid} ref={heads}>
        {columns.map((column, index) => {
          const attempt = attempts[column];
          return attempt === undefined ? null : (
            <div
              key={column}
              class={`compare-head${index === spot.column ? ' is-chosen' : ''}`}
              onClick={() => onColumn(index)}
            >
              <Glyph outcome={attempt.outcome} title={attempt.outcome} /> {nameOf(column)}
              {column === alignment.reference && <span class="compare-tag">reference</span>}
            </div>
          );
        })}
      </div>
      <VirtualList
        count={rows.length}
        rowHeight={ROW}
        label="Steps side by side"
        role="listbox"
        selected={spot.row}
        keyOf={(index) => index}
        onSelect={onRow}
        onOpen={(row) => onOpen({ row, column: spot.column })}
        row={(index) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div
              class={`compare-row${index === firstSplit ? ' is-split' : ''}`}
              style={grid}
              onClick={(event) => onColumn(columnOf(event) ?? spot.column)}
              onDblClick={(event) => {
                event.stopPropagation(); // The list's own handler would use the previously selected column.
                onOpen({ row: index, column: columnOf(event) ?? spot.column });
              }}
            >
              {columns.slice(first, last).map((column, at) => (
                <CellView
                  key={column}
                  row={row}
                  column={column}
                  at={first + at}
                  chosen={index === spot.row && first + at === spot.column}
                  rejoins={rejoinsIn(alignment, row, column)}
                />
              ))}
            </div>
          );
        }}
      />
    </div>
  );
}

/** Returns which columns can be seen, and one more on each side, as a range: the others are not rendered. */
function useVisibleColumns(rows: { readonly current: HTMLElement | null }, count: number): readonly [number, number] {
  const [range, setRange] = useState<readonly [number, number]>([0, Math.ceil(window.innerWidth / COLUMN)]);
  useLayoutEffect(() => {
    const scroller = rows.current?.parentElement;
    if (scroller === null || scroller === undefined) return;
    const update = (): void => {
      const { scrollLeft, clientWidth } = scroller;
      const width = Math.max(COLUMN, clientWidth / Math.max(1, count));
      const next = [
        Math.max(0, Math.floor(scrollLeft / width) - 1),
        Math.ceil((scrollLeft + clientWidth) / width) + 1,
      ] as const;
      setRange((now) => (now[0] === next[0] && now[1] === next[1] ? now : next));
    };
    update();
    const observer = new ResizeObserver(update);
    observer.observe(scroller);
    scroller.addEventListener('scroll', update, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener('scroll', update);
    };
  }, [count]);
  return range;
}

/** Returns the position of the column in which an event happened. */
function columnOf(event: Event): number | undefined {
  const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-at]') : null;
  return cell === null ? undefined : Number(cell.dataset['at']);
}

interface CellViewProps {
  readonly row: AlignedRow;
  readonly column: number;
  /** Position of the column among those shown. */
  readonly at: number;
  readonly chosen: boolean;
  readonly rejoins: boolean;
}

function CellView({ row, column, at, chosen, rejoins }: CellViewProps) {
  // The same node for the same cell: scrolling renders only cells that were not shown before.
  return useMemo(() => cellOf(row, column, at, chosen, rejoins), [row, column, at, chosen, rejoins]);
}

function cellOf(row: AlignedRow, column: number, at: number, chosen: boolean, rejoins: boolean): VNode {
  const cell = row.cells[column];
  const [sign, description] = SIGNS[cell?.state ?? 'missing'];
  const place = { 'data-at': at, style: { gridColumn: at + 1 } };
  if (cell?.action === undefined)
    return (
      <div class={`compare-cell is-missing${chosen ? ' is-chosen' : ''}`} {...place}>
        <span class="only-read">{description}</span>
      </div>
    );
  const base = row.cells[row.base]?.action;
  const differences = base === undefined || column === row.base ? [] : callDifferences(base, cell.action);
  const { calls } = cell.action;
  const details = differences.flatMap((call) => {
    const from = sourcesText(base?.calls[call.call], calls[call.call]);
    return [
      ...call.arguments.map((one) => differenceText(one)),
      ...call.result.map((one) => `result${from} ${differenceText(one)}`),
    ];
  });
  const text = actionText(cell.action);
  return (
    <div
      class={`compare-cell is-${cell.state}${chosen ? ' is-chosen' : ''}`}
      title={[text, ...details].join('\n')}
      {...place}
    >
      <div class="compare-line">
        <span class="compare-sign" aria-hidden="true">
          {column === row.base ? '' : sign}
        </span>
        <span class="compare-step">{cell.action.step}</span> {text}
        <span class="only-read">, {description}</span>
      </div>
      <div class="compare-line compare-details">{[...(rejoins ? ['rejoins'] : []), ...details].join(' · ')}</div>
    </div>
  );
}

function rejoinsIn({ splits }: Alignment, row: AlignedRow, column: number): boolean {
  const action = row.cells[column]?.action;
  return action !== undefined && splits[column]?.rejoin?.b === action;
}

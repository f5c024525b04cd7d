/** Attempts side by side: a row per aligned action, a column per attempt. */
import { useEffect, useRef } from 'preact/hooks';
import type { ComparedAttempt } from '../../src/trace/align/attempt.ts';
import type { AlignedRow, Alignment, Cell } from '../../src/trace/align/columns.ts';
import { callDifferences } from '../../src/trace/align/differences.ts';
import { actionText, differenceText } from '../../src/trace/align/label.ts';
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
  const heads = useRef<HTMLDivElement>(null);
  useEffect(
    () => heads.current?.children[spot.column]?.scrollIntoView({ block: 'nearest', inline: 'nearest' }),
    [spot.column, columns],
  );
  const { rows, firstSplit } = alignment;
  const grid = { gridTemplateColumns: `repeat(${columns.length}, minmax(${COLUMN}px, 1fr))` };
  return (
    <div class="compare-rows" style={{ minWidth: `${columns.length * COLUMN}px` }}>
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
            <div class={`compare-row${index === firstSplit ? ' is-split' : ''}`} style={grid}>
              {columns.map((column, at) => (
                <CellView
                  key={column}
                  row={row}
                  column={column}
                  chosen={index === spot.row && at === spot.column}
                  rejoins={rejoinsIn(alignment, row, column)}
                  onClick={() => onColumn(at)}
                  onDblClick={(event) => {
                    event.stopPropagation(); // The row's own handler would use the previously selected column.
                    onOpen({ row: index, column: at });
                  }}
                />
              ))}
            </div>
          );
        }}
      />
    </div>
  );
}

interface CellViewProps {
  readonly row: AlignedRow;
  readonly column: number;
  readonly chosen: boolean;
  readonly rejoins: boolean;
  readonly onClick: () => void;
  readonly onDblClick: (event: MouseEvent) => void;
}

function CellView({ row, column, chosen, rejoins, ...handlers }: CellViewProps) {
  const cell = row.cells[column];
  const [sign, description] = SIGNS[cell?.state ?? 'missing'];
  if (cell?.action === undefined)
    return (
      <div class={`compare-cell is-missing${chosen ? ' is-chosen' : ''}`} {...handlers}>
        <span class="only-read">{description}</span>
      </div>
    );
  const base = row.cells[row.base]?.action;
  const differences = base === undefined || column === row.base ? [] : callDifferences(base, cell.action);
  const details = differences.flatMap((call) => [
    ...call.arguments.map((one) => differenceText(one)),
    ...call.result.map((one) => `result ${differenceText(one)}`),
  ]);
  const text = actionText(cell.action);
  return (
    <div
      class={`compare-cell is-${cell.state}${chosen ? ' is-chosen' : ''}`}
      title={[text, ...details].join('\n')}
      {...handlers}
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

/** The rows of a table at the start: virtualized, with a filter. A foreign key leads to its row. */
import { useMemo, useState } from 'preact/hooks';
import { isJsonObject, type Json } from '../../../src/common/json.ts';
import { count } from '../../../src/common/units.ts';
import type { TableRows, WorldTable } from '../../../src/protocol/worldPage.ts';
import { valueText } from '../../../src/trace/text/values.ts';
import { Dropdown } from '../../components/controls.tsx';
import { Banner } from '../../components/notices/banner.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { Skeleton } from '../../components/notices/skeleton.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import { FilterField, hasWords } from './filterField.tsx';
import type { TabProps } from './worldPage.tsx';

const ROW_HEIGHT = 22;
/** Width of a character of the editor font, and the padding of a cell, in pixels. */
const CHAR_PX = 7.3;
const CELL_PX = 24;
const MAX_CHARS = 40;
/** Rows that decide how wide columns are. */
const SAMPLE = 500;

export function RowsTab({ session, details }: TabProps) {
  const { tables } = details;
  const table = tables.find(({ name }) => name === session.table) ?? tables[0];
  if (table === undefined)
    return (
      <EmptyState
        icon="database"
        title="No rows"
        text={
          details.kind === 'code'
            ? 'This scenario has no tables.'
            : 'The state of a TypeScript world is known only to its module.'
        }
      />
    );
  const rows = session.rowsOf(table.name);
  return (
    <div class="world-rows">
      {rows === undefined ? (
        <Skeleton />
      ) : (
        <Rows key={table.name} session={session} details={details} table={table} rows={rows} />
      )}
    </div>
  );
}

function Rows({
  session,
  details,
  table,
  rows: { columns, rows, isPart = false, problem },
}: TabProps & { readonly table: WorldTable; readonly rows: TableRows }) {
  const [words, setWords] = useState('');
  const texts = useMemo(() => rows.map((row) => row.map(cellText)), [rows]);
  const shown = useMemo(
    () => [...texts.keys()].filter((index) => hasWords(words, texts[index]?.join('\n') ?? '')),
    [texts, words],
  );
  const numeric = useMemo(
    () => columns.map((_, at) => rows.slice(0, SAMPLE).every((row) => row[at] === null || typeof row[at] === 'number')),
    [rows, columns],
  );
  const widths = useMemo(() => widthsOf(columns, texts), [columns, texts]);
  const targets = columns.map((column) => targetOf(table, column));
  const template = widths.map((width) => `${width}px`).join(' ');
  const total = widths.reduce((sum, width) => sum + width, 0);
  return (
    <>
      <div class="world-tools">
        <Dropdown
          label="Table"
          value={table.name}
          options={details.tables.map(({ name }) => ({ value: name, text: name }))}
          onChange={(name) => session.select({ table: name })}
        />
        <FilterField label="Filter rows" value={words} onInput={setWords} matches={shown.length} of={rows.length} />
      </div>
      {problem !== undefined && <Banner kind="warning" text={problem} />}
      {isPart && (
        <p class="world-remark">
          The first {count(rows.length)} of {count(table.rows)} rows.
        </p>
      )}
      {rows.length === 0 ? (
        <p class="world-remark">No rows.</p>
      ) : (
        <div class="world-grid" tabIndex={0} role="region" aria-label={`Rows of ${table.name}`}>
          <div class="world-grid-all" style={{ minWidth: `${total}px` }}>
            <div class="world-grid-head" style={{ gridTemplateColumns: template }}>
              {columns.map((column, at) => (
                <span key={column} class={numeric[at] === true ? 'is-number' : ''} title={column}>
                  {column}
                </span>
              ))}
            </div>
            <div class="world-grid-rows">
              <VirtualList
                count={shown.length}
                rowHeight={ROW_HEIGHT}
                label={`Rows of ${table.name}`}
                role="list"
                selected={-1}
                keyOf={(index) => shown[index] ?? index}
                row={(index) => {
                  const row = texts[shown[index] ?? -1];
                  return row === undefined ? null : (
                    <div class="world-grid-row" style={{ gridTemplateColumns: template }}>
                      {row.map((text, at) => (
                        <span key={at} class={numeric[at] === true ? 'is-number' : ''} title={text}>
                          {targets[at] === undefined || text === '' ? (
                            text
                          ) : (
                            <button
                              type="button"
                              class="link is-link"
                              title={`Show ${targets[at] ?? ''}`}
                              onClick={() => session.select({ table: targets[at] })}
                            >
                              {text}
                            </button>
                          )}
                        </span>
                      ))}
                    </div>
                  );
                }}
                onSelect={() => undefined}
              />
            </div>
          </div>
        </div>
      )}
    </>
  );
}

function cellText(value: Json): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  if (isJsonObject(value) && typeof value['sql'] === 'string' && Object.keys(value).length === 1) return value['sql'];
  return valueText(value);
}

/** Returns the table that a column refers to. */
function targetOf({ foreignKeys }: WorldTable, column: string): string | undefined {
  return foreignKeys.find(({ columns }) => columns.length === 1 && columns[0] === column)?.table;
}

function widthsOf(columns: readonly string[], texts: readonly (readonly string[])[]): number[] {
  const sample = texts.slice(0, SAMPLE);
  return columns.map((column, at) => {
    const chars = sample.reduce((max, row) => Math.max(max, row[at]?.length ?? 0), column.length);
    return Math.ceil(Math.min(MAX_CHARS, Math.max(4, chars)) * CHAR_PX) + CELL_PX;
  });
}

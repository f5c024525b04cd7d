/** Lists rows of a world by table, virtualized, with what changed in them. The selected row is shown in full. */
import { useMemo, useState } from 'preact/hooks';
import { isSameJson } from '../../../../src/common/json.ts';
import { VirtualList } from '../../../components/virtualList.tsx';
import { ValueView } from '../../../values/valueView.tsx';
import { WorldCell, WorldKey } from '../../../world/worldCell.tsx';
import { groupsOf, keyText, type WorldChange, type WorldGroup, widthsOf } from '../../../world/worldTable.ts';
import type { TrajectoryView } from '../../view.ts';
import { useValueActions } from './actions.ts';

const ROW_HEIGHT = 22;
/** Minimum number of visible rows; more in a high window. */
const ROWS_IN_SIGHT = 20;

interface Entry {
  readonly group: WorldGroup;
  /** Grid of the group's columns. */
  readonly columns: string;
  readonly kind: 'name' | 'head' | 'row';
  readonly row?: WorldChange;
}

interface WorldListProps {
  readonly view: TrajectoryView;
  readonly changes: readonly WorldChange[];
  /** Of a whole table, whose rows these are: its name and columns in their order. Absent: the changed ones first. */
  readonly table?: { readonly name: string; readonly columns: readonly string[] };
}

export function WorldList({ view, changes, table }: WorldListProps) {
  const { entries, width } = useMemo(
    () => layOut(table === undefined ? groupsOf(changes) : [wholeTable(table, changes)]),
    [changes, table],
  );
  const [chosen, setChosen] = useState<{ readonly changes: readonly WorldChange[]; readonly index: number }>();
  const selected = chosen?.changes === changes ? chosen.index : -1;
  const row = entries[selected]?.row;
  return (
    <>
      <div class="world-scroll" tabIndex={-1}>
        <div
          style={{
            minWidth: `${width}ch`,
            height: `min(${entries.length * ROW_HEIGHT}px, max(${ROWS_IN_SIGHT * ROW_HEIGHT}px, 100vh - 340px))`,
          }}
        >
          <VirtualList
            count={entries.length}
            rowHeight={ROW_HEIGHT}
            label={table === undefined ? 'Changed rows' : `Rows of ${table.name}`}
            role="tree"
            selected={selected}
            keyOf={(index) => index}
            row={(index) => {
              const entry = entries[index];
              return entry === undefined ? null : <Line entry={entry} />;
            }}
            rowProps={(index) => ({ 'aria-level': entries[index]?.kind === 'name' ? 1 : 2 })}
            onSelect={(index) => setChosen({ changes, index })}
          />
        </div>
      </div>
      {row !== undefined && <WholeRow view={view} row={row} />}
    </>
  );
}

function layOut(groups: readonly WorldGroup[]): { readonly entries: readonly Entry[]; readonly width: number } {
  const entries: Entry[] = [];
  let width = 0;
  for (const group of groups) {
    const widths = widthsOf(group);
    // The last column takes the remaining width.
    const columns = [
      ...widths.slice(0, -1).map((chars) => `${chars + 2}ch`),
      `minmax(${widths.at(-1) ?? 0}ch, 1fr)`,
    ].join(' ');
    width = Math.max(
      width,
      widths.reduce((sum, chars) => sum + chars + 2, 4),
    );
    entries.push(...(group.counts === '' ? [] : [{ group, columns, kind: 'name' as const }]), {
      group,
      columns,
      kind: 'head',
    });
    // Not spread: a table may have more rows than a call has arguments.
    for (const row of group.rows) entries.push({ group, columns, kind: 'row', row });
  }
  return { entries, width };
}

/** A table that is named above the list. */
function wholeTable({ name, columns }: NonNullable<WorldListProps['table']>, rows: readonly WorldChange[]): WorldGroup {
  if (columns.length > 0) return { name, rows, columns, counts: '' };
  return { name, rows, columns: groupsOf(rows)[0]?.columns ?? [], counts: '' };
}

function Line({ entry: { group, columns, kind, row } }: { readonly entry: Entry }) {
  if (kind === 'name')
    return (
      <span class="world-line is-name">
        <code>{group.name}</code> <span class="dim">{group.counts}</span>
      </span>
    );
  const names = group.columns.length === 0 ? [undefined] : group.columns;
  return (
    <span
      class={`world-line is-${kind} ${row === undefined ? '' : changeOf(row)}`.trim()}
      style={{ gridTemplateColumns: columns }}
    >
      <span>{row === undefined ? 'key' : <WorldKey row={row} />}</span>
      {names.map((name) => (
        <span key={name ?? ''}>{row === undefined ? (name ?? 'value') : <WorldCell row={row} column={name} />}</span>
      ))}
    </span>
  );
}

/** Returns the class of a row that differs from the start. */
function changeOf({ op, before, after }: WorldChange): string {
  return op === 'update' && isSameJson(before, after) ? '' : `is-${op}`;
}

/** Shows a row in full, compared with its previous value. */
function WholeRow({ view, row }: { readonly view: TrajectoryView; readonly row: WorldChange }) {
  const actions = useValueActions(view);
  const value = row.after ?? row.before;
  if (value === undefined) return null;
  const word = { insert: 'added', update: 'changed', delete: 'removed' }[row.op];
  const isChanged = changeOf(row) !== '';
  return (
    <ValueView
      title={`${row.table ?? row.file ?? 'world'} ${keyText(row)}`}
      value={value}
      baseline={row.op === 'update' ? row.before : undefined}
      blobs={view.data.blobs}
      {...actions}
    >
      <span class="dim">{isChanged ? word : 'not changed'}</span>
    </ValueView>
  );
}

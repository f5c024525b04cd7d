/** Lists the changed rows of a world by table, virtualized. The selected row is shown in full. */
import { useMemo, useState } from 'preact/hooks';
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

export function WorldList({
  view,
  changes,
}: {
  readonly view: TrajectoryView;
  readonly changes: readonly WorldChange[];
}) {
  const { entries, width } = useMemo(() => layOut(changes), [changes]);
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
            label="Changed rows"
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

function layOut(changes: readonly WorldChange[]): { readonly entries: readonly Entry[]; readonly width: number } {
  const entries: Entry[] = [];
  let width = 0;
  for (const group of groupsOf(changes)) {
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
    entries.push(
      { group, columns, kind: 'name' },
      { group, columns, kind: 'head' },
      ...group.rows.map((row): Entry => ({ group, columns, kind: 'row', row })),
    );
  }
  return { entries, width };
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
    <span class={`world-line is-${kind}`} style={{ gridTemplateColumns: columns }}>
      <span>{row === undefined ? 'key' : <WorldKey row={row} />}</span>
      {names.map((name) => (
        <span key={name ?? ''}>{row === undefined ? (name ?? 'value') : <WorldCell row={row} column={name} />}</span>
      ))}
    </span>
  );
}

/** Shows a row in full, compared with its previous value. */
function WholeRow({ view, row }: { readonly view: TrajectoryView; readonly row: WorldChange }) {
  const actions = useValueActions(view);
  const value = row.after ?? row.before;
  if (value === undefined) return null;
  const word = { insert: 'added', update: 'changed', delete: 'removed' }[row.op];
  return (
    <ValueView
      title={`${row.table ?? row.file ?? 'world'} ${keyText(row)}`}
      value={value}
      baseline={row.op === 'update' ? row.before : undefined}
      blobs={view.data.blobs}
      {...actions}
    >
      <span class="dim">{word}</span>
    </ValueView>
  );
}

/** The tables of a schema as a list, with their keys and relations. */
import { count } from '../../../../src/common/units.ts';
import type { WorldTable } from '../../../../src/protocol/worldPage.ts';

interface OutlineProps {
  readonly tables: readonly WorldTable[];
  readonly selected: string | undefined;
  readonly found: ReadonlySet<string>;
  readonly onOpen: (table: string) => void;
}

export function Outline({ tables, selected, found, onOpen }: OutlineProps) {
  return (
    <ul class="world-outline">
      {tables
        .filter(({ name }) => found.has(name))
        .map((table) => (
          <li key={table.name} class={table.name === selected ? 'is-selected' : ''}>
            <button type="button" class="link" title="Show its rows" onClick={() => onOpen(table.name)}>
              <strong>{table.name}</strong> <span class="dim">{count(table.rows)} rows</span>
            </button>
            <ul>
              {table.columns.map((column) => {
                const target = table.foreignKeys.find(({ columns }) => columns.includes(column.name))?.table;
                return (
                  <li key={column.name}>
                    <code>{column.name}</code>{' '}
                    <span class="dim">
                      {column.type.toLowerCase()}
                      {column.isKey && ' · key'}
                      {target !== undefined && ` → ${target}`}
                    </span>
                  </li>
                );
              })}
            </ul>
          </li>
        ))}
    </ul>
  );
}

/** The first changed rows of a world as tables, with old values struck through. */
import { count } from '../../src/common/units.ts';
import { Button } from '../components/controls.tsx';
import { WorldCell, WorldKey } from './worldCell.tsx';
import { groupsOf, type WorldChange, type WorldGroup } from './worldTable.ts';
import './world.css';

const MAX_ROWS = 30;

interface WorldRowsProps {
  readonly changes: readonly WorldChange[];
  /** Where `onAll` shows all rows. */
  readonly all: string;
  readonly onAll: () => void;
}

export function WorldRows({ changes, all, onAll }: WorldRowsProps) {
  let left = MAX_ROWS;
  const groups = groupsOf(changes).flatMap((group) => {
    const rows = group.rows.slice(0, left);
    left -= rows.length;
    return rows.length === 0 ? [] : [{ ...group, rows }];
  });
  return (
    <>
      {groups.map((group) => (
        <Group key={group.name} group={group} />
      ))}
      {changes.length > MAX_ROWS && (
        <div class="world-more">
          <Button
            kind="secondary"
            label={`Show all ${count(changes.length)} rows`}
            title={`Show all rows in ${all}`}
            onClick={onAll}
          />
        </div>
      )}
    </>
  );
}

function Group({ group: { name, rows, columns, counts } }: { readonly group: WorldGroup }) {
  return (
    <div class="world-group" tabIndex={0} role="region" aria-label={`Changes in ${name}`}>
      <table class="world-table">
        <caption>
          <code>{name}</code> <span class="dim">{counts}</span>
        </caption>
        <thead>
          <tr>
            <th scope="col">key</th>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
            {columns.length === 0 && <th scope="col">value</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              <th scope="row">
                <WorldKey row={row} />
              </th>
              {columns.map((column) => (
                <td key={column}>
                  <WorldCell row={row} column={column} />
                </td>
              ))}
              {columns.length === 0 && (
                <td>
                  <WorldCell row={row} column={undefined} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Changed rows and files of a world, by table: what was, struck out, and what is. */
import type { Json } from '../../../../src/common/json.ts';
import { isJsonObject } from '../../../../src/common/json.ts';
import type { Change } from '../../../../src/trace/schema.ts';
import { valueText } from '../../../../src/trace/text/values.ts';
import { useState } from 'preact/hooks';
import { Button } from '../../../components/controls.tsx';

type Row = Pick<Change, 'table' | 'file' | 'key' | 'op' | 'before' | 'after'>;

const ROWS_AT_FIRST = 50;
const CELL_CHARS = 200;

export function WorldRows({ changes }: { readonly changes: readonly Row[] }) {
  const groups = new Map<string, Row[]>();
  for (const change of changes) {
    const name = change.table ?? change.file ?? 'world';
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [change]);
    else group.push(change);
  }
  return <>{[...groups].map(([name, rows]) => <Group key={name} name={name} rows={rows} />)}</>;
}

function Group({ name, rows }: { readonly name: string; readonly rows: readonly Row[] }) {
  const [limit, setLimit] = useState(ROWS_AT_FIRST);
  const columns = [...new Set(rows.flatMap((row) => [...membersOf(row.before), ...membersOf(row.after)]))];
  return (
    <div class="world-group" tabIndex={0} role="region" aria-label={`Changes of ${name}`}>
      <table class="world-table">
        <caption><code>{name}</code> <span class="dim">{countText(rows)}</span></caption>
        <thead><tr><th scope="col">key</th>{columns.map((column) => <th key={column} scope="col">{column}</th>)}{columns.length === 0 && <th scope="col">value</th>}</tr></thead>
        <tbody>{rows.slice(0, limit).map((row, index) => <Cells key={index} row={row} columns={columns} />)}</tbody>
      </table>
      {rows.length > limit && <Button kind="secondary" label={`Show ${rows.length - limit} more`} onClick={() => setLimit(rows.length)} />}
    </div>
  );
}

function Cells({ row, columns }: { readonly row: Row; readonly columns: readonly string[] }) {
  const key = short(row.key);
  return (
    <tr>
      <th scope="row">{row.op === 'insert' ? <ins class="value-new">+ {key}</ins> : row.op === 'delete' ? <del class="value-old">{key}</del> : key}</th>
      {columns.map((column) => <td key={column}><Cell op={row.op} before={memberOf(row.before, column)} after={memberOf(row.after, column)} /></td>)}
      {columns.length === 0 && <td><Cell op={row.op} before={row.before} after={row.after} /></td>}
    </tr>
  );
}

function Cell({ op, before, after }: { readonly op: Change['op']; readonly before: Json | undefined; readonly after: Json | undefined }) {
  const old = before === undefined ? undefined : short(before);
  const now = after === undefined ? undefined : short(after);
  if (op !== 'update' || old === now) return <>{now ?? old ?? ''}</>;
  return <>{old !== undefined && <del class="value-old">{old}</del>} {now !== undefined && <ins class="value-new">{now}</ins>}</>;
}

function membersOf(value: Json | undefined): string[] {
  return value !== undefined && isJsonObject(value) ? Object.keys(value) : [];
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return value !== undefined && isJsonObject(value) ? value[name] : undefined;
}

function short(value: Json): string {
  const text = valueText(value);
  return text.length > CELL_CHARS ? `${text.slice(0, CELL_CHARS)}…` : text;
}

function countText(rows: readonly Row[]): string {
  const words: Readonly<Record<Change['op'], string>> = { insert: 'added', update: 'changed', delete: 'removed' };
  return (['update', 'insert', 'delete'] as const).flatMap((op) => {
    const count = rows.filter((row) => row.op === op).length;
    return count === 0 ? [] : [`${count} ${words[op]}`];
  }).join(', ');
}

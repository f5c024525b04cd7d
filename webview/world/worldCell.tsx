/** Cells of a changed row. */
import { cellOf, keyText, type WorldChange } from './worldTable.ts';

export function WorldKey({ row }: { readonly row: WorldChange }) {
  const key = keyText(row);
  if (row.op === 'insert') return <ins class="value-new">+ {key}</ins>;
  return row.op === 'delete' ? <del class="value-old">{key}</del> : <>{key}</>;
}

export function WorldCell({ row, column }: { readonly row: WorldChange; readonly column: string | undefined }) {
  const { old, now, changed } = cellOf(row, column);
  if (!changed) return <>{now}</>;
  return (
    <>
      {old !== undefined && <del class="value-old">{old}</del>}{' '}
      {now !== undefined && <ins class="value-new">{now}</ins>}
    </>
  );
}

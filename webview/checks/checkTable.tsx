/** The checks of a score as a table of expected and actual values. */
import { useMemo, useState } from 'preact/hooks';
import { type CheckRow, checkRows } from '../../src/trace/checkRows.ts';
import type { Check } from '../../src/trace/schema.ts';
import { ActionLink } from '../components/link.tsx';
import { Glyph } from '../components/marks/glyph.tsx';
import { DiffText } from '../values/diffText.tsx';
import { inlineDiff } from '../values/inlineDiff.ts';
import './checkTable.css';

export interface CheckTableProps {
  readonly checks: readonly Check[];
  /** More rows appear on request. */
  readonly maxRows?: number;
  /** Without it, the rest is only counted: a hover card has nothing to click. */
  readonly expandable?: boolean;
  /** Called with the index of a check. Absent: names are not links. */
  readonly onOpen?: (check: number) => void;
}

export function CheckTable({ checks, maxRows = 20, expandable = true, onOpen }: CheckTableProps) {
  const rows = useMemo(() => checkRows(checks), [checks]);
  const [expanded, setExpanded] = useState(false);
  const visible = expanded ? rows : rows.slice(0, maxRows);
  const hidden = rows.length - visible.length;
  if (rows.length === 0) return null;
  const more = `${hidden} more ${hidden === 1 ? 'check' : 'checks'}`;
  return (
    <div class="check-table">
      <table aria-label="Checks">
        <thead>
          <tr>
            <td />
            <th scope="col">check</th>
            <th scope="col">expected</th>
            <th scope="col">actual</th>
          </tr>
        </thead>
        <tbody>
          {visible.map((row, index) => (
            <Row key={index} row={row} onOpen={onOpen} />
          ))}
        </tbody>
      </table>
      {hidden > 0 &&
        (expandable ? (
          <ActionLink label={`Show ${more}`} onClick={() => setExpanded(true)} />
        ) : (
          <p class="dim">{more}</p>
        ))}
    </div>
  );
}

function Row({ row, onOpen }: { readonly row: CheckRow; readonly onOpen: CheckTableProps['onOpen'] }) {
  const { name, field, passed, expected, actual } = row;
  const outcome = passed === true ? 'passed' : passed === false ? 'failed' : 'unscored';
  const spans = useMemo(
    () =>
      passed === false && expected !== undefined && actual !== undefined ? inlineDiff(expected, actual) : undefined,
    [passed, expected, actual],
  );
  return (
    <tr class={passed === false ? 'is-failed' : 'is-passed'}>
      <td>
        <Glyph outcome={outcome} title={outcome} />
      </td>
      <th scope="row">
        {onOpen === undefined ? name : <ActionLink label={name} onClick={() => onOpen(row.check)} />}
        {field !== undefined && <span class="dim"> {field}</span>}
      </th>
      <td>
        <Value text={expected} spans={spans?.before} kind="expected" />
      </td>
      <td>
        <Value text={actual} spans={spans?.after} kind="actual" />
      </td>
    </tr>
  );
}

function Value({
  text,
  spans,
  kind,
}: {
  readonly text: string | undefined;
  readonly spans: Parameters<typeof DiffText>[0]['spans'] | undefined;
  readonly kind: 'expected' | 'actual';
}) {
  if (text === undefined)
    return (
      <span class="dim" title="Not recorded">
        –
      </span>
    );
  return <DiffText spans={spans ?? [{ text, differs: false }]} kind={kind} />;
}

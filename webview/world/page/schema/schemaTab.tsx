/** The tables of a world as a diagram of entities and relations, or as an outline where there is no room. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { plural } from '../../../../src/common/text.ts';
import { count } from '../../../../src/common/units.ts';
import type { WorldTable } from '../../../../src/protocol/worldPage.ts';
import { Button } from '../../../components/controls.tsx';
import { EmptyState } from '../../../components/notices/emptyState.tsx';
import { usePageWidth } from '../../../components/pageWidth.ts';
import { FilterField, hasWords } from '../filterField.tsx';
import type { TabProps } from '../worldPage.tsx';
import { Diagram, type DiagramControl } from './diagram.tsx';
import { layoutSchema } from './layout.ts';
import { Outline } from './outline.tsx';

/** Narrower pages show an outline. */
const MIN_DIAGRAM_WIDTH = 641;

export function SchemaTab({ session, details }: TabProps) {
  const [words, setWords] = useState('');
  const control = useRef<DiagramControl>(null);
  const { tables } = details;
  const layout = useMemo(() => layoutSchema(tables), [tables]);
  const hasDiagram = usePageWidth() >= MIN_DIAGRAM_WIDTH;
  const found = useMemo(
    () => new Set(tables.filter((table) => hasWords(words, textOf(table))).map(({ name }) => name)),
    [tables, words],
  );
  const [first] = found;
  useEffect(() => {
    if (words !== '' && first !== undefined && !found.has(session.table ?? '')) session.select({ table: first });
  }, [words]);
  if (tables.length === 0)
    return (
      <EmptyState
        icon="database"
        title="No tables"
        text={
          details.kind === 'code'
            ? 'This scenario has no tables.'
            : 'A TypeScript world declares no tables. The World tab of a trajectory shows the rows that calls change.'
        }
      />
    );
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const view = {
    layout,
    selected: session.table,
    found,
    onSelect: (table: string) => session.select({ table }),
    onOpen: (table: string) => session.select({ table, tab: 'rows' }),
  };
  return (
    <div class="world-rows">
      <div class="world-tools">
        <span class="dim world-schema-counts">
          {plural(tables.length, 'table')}, {count(rows)} {rows === 1 ? 'row' : 'rows'},{' '}
          {plural(layout.relations.length, 'relation')}
        </span>
        <FilterField
          label="Search tables and columns"
          value={words}
          onInput={setWords}
          matches={found.size}
          of={tables.length}
        />
        {hasDiagram && (
          <span class="world-zoom">
            <Button
              kind="icon"
              icon="remove"
              label="Zoom out"
              title="Zoom out (−)"
              onClick={() => control.current?.zoom(-1)}
            />
            <Button
              kind="icon"
              icon="add"
              label="Zoom in"
              title="Zoom in (+)"
              onClick={() => control.current?.zoom(1)}
            />
            <Button kind="icon" icon="screen-full" label="Fit" title="Fit (0)" onClick={() => control.current?.fit()} />
          </span>
        )}
      </div>
      {hasDiagram ? <Diagram {...view} control={control} /> : <Outline tables={tables} {...view} />}
    </div>
  );
}

function textOf({ name, columns }: WorldTable): string {
  return [name, ...columns.map((column) => column.name)].join('\n');
}

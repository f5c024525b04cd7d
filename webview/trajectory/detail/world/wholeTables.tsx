/** A whole table of a world as it is at a step: the template with the recorded changes. */
import type { VNode } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { errorText } from '../../../../src/common/errors.ts';
import { isSameJson } from '../../../../src/common/json.ts';
import { count } from '../../../../src/common/units.ts';
import { Dropdown } from '../../../components/controls.tsx';
import { Skeleton } from '../../../components/notices/skeleton.tsx';
import type { TemplateTable, WorldTemplate } from '../../../data/worldTemplate.ts';
import type { WorldChange } from '../../../world/worldTable.ts';
import type { TrajectoryView } from '../../view.ts';
import { WorldList } from '../parts/worldList.tsx';
import { tableAt } from './tableAt.ts';
import { openTemplate } from './template.ts';

interface WholeTablesProps {
  readonly view: TrajectoryView;
  /** The blob with the tables at the start. Absent: only changed rows are recorded. */
  readonly template: string | undefined;
  /** The last event whose changes count. */
  readonly reached: number;
  /** Switches to the changes. */
  readonly rows: VNode;
  /** What is notable about the selected call. */
  readonly mark: VNode;
}

export function WholeTables(props: WholeTablesProps) {
  return props.template === undefined ? (
    <RecordedRows {...props} />
  ) : (
    <TemplateTables {...props} template={props.template} />
  );
}

/** Shows what the recording has of a world without a template. */
function RecordedRows({ view, reached, rows, mark }: WholeTablesProps) {
  const { model } = view.data;
  const known = useMemo(() => model.worldChanges.knownAt(reached), [model, reached, model.diffs.length]);
  return (
    <>
      <div class="panel-tools">
        {rows}
        <span class="dim">
          {countsOf(known)}, as of event {count(reached)}
        </span>
      </div>
      <p class="remark">Only rows that some call changes: the tables of a TypeScript world are not recorded.</p>
      {mark}
      {known.length === 0 ? (
        <p class="remark">No row of the recording exists here.</p>
      ) : (
        <WorldList view={view} changes={known} />
      )}
    </>
  );
}

function TemplateTables({ view, template, reached, rows, mark }: WholeTablesProps & { readonly template: string }) {
  const { model, blobs } = view.data;
  const [chosen, setChosen] = useState<string>();
  const opened = useLoaded(() => openTemplate(blobs, template), [blobs, template]);
  const changed = useMemo(() => model.worldChanges.at(reached), [model, reached, model.diffs.length]);
  const tables = useMemo(() => tablesOf(opened.value, changed.values()), [opened.value, changed]);
  // The first one with changes is what somebody looks for.
  const table =
    tables.find(({ name }) => name === chosen) ??
    tables.find(({ name }) => [...changed.values()].some((row) => row.table === name)) ??
    tables[0];
  const name = table?.name;
  const read = useLoaded(() => (name === undefined ? undefined : opened.value?.rows(name)), [opened.value, name]);
  const merged = useMemo(
    () => (name === undefined || read.value === undefined ? undefined : tableAt(name, read.value.rows, changed)),
    [name, read.value, changed],
  );
  const problem = opened.problem ?? read.problem;
  return (
    <>
      <div class="panel-tools">
        {rows}
        {table !== undefined && (
          <Dropdown
            label="Table"
            value={table.name}
            options={tables.map((each) => ({ value: each.name, text: each.name }))}
            onChange={setChosen}
          />
        )}
        {merged !== undefined && (
          <span class="dim" role="status">
            {countsOf(merged)}, as of event {count(reached)}
          </span>
        )}
      </div>
      {read.value?.isPart === true && (
        <p class="remark">
          The first {count(read.value.rows.length)} rows of this table. Rows after them are shown if they changed.
        </p>
      )}
      {mark}
      {problem !== undefined ? (
        <p class="remark">The tables cannot be shown: {problem}</p>
      ) : opened.value !== undefined && table === undefined ? (
        <p class="remark">This world has no tables.</p>
      ) : table === undefined || merged === undefined ? (
        <Skeleton />
      ) : merged.length === 0 ? (
        <p class="remark">No rows.</p>
      ) : (
        <WorldList view={view} changes={merged} table={table} />
      )}
    </>
  );
}

/** Returns the tables of the template, and those that calls created. */
function tablesOf(
  template: WorldTemplate | undefined,
  changed: Iterable<{ readonly table?: string }>,
): readonly TemplateTable[] {
  if (template === undefined) return [];
  const names = new Set(template.tables.map(({ name }) => name));
  const added: TemplateTable[] = [];
  for (const { table } of changed) {
    if (table === undefined || names.has(table)) continue;
    names.add(table);
    added.push({ name: table, columns: [] });
  }
  return [...template.tables, ...added];
}

function countsOf(rows: readonly WorldChange[]): string {
  let removed = 0;
  let added = 0;
  let changed = 0;
  for (const { op, before, after } of rows) {
    if (op === 'delete') removed += 1;
    else if (op === 'insert') added += 1;
    else if (!isSameJson(before, after)) changed += 1;
  }
  const parts = [
    [changed, 'changed'],
    [added, 'added'],
    [removed, 'removed'],
  ] as const;
  const left = rows.length - removed;
  return [
    `${count(left)} ${left === 1 ? 'row' : 'rows'}`,
    ...parts.flatMap(([number, word]) => (number === 0 ? [] : [`${count(number)} ${word}`])),
  ].join(', ');
}

interface Loaded<T> {
  readonly value?: T;
  readonly problem?: string;
}

/** Loads a value again whenever the inputs change. Ignores what an earlier load answers. */
function useLoaded<T>(load: () => Promise<T> | undefined, inputs: readonly unknown[]): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly inputs?: readonly unknown[] }>({});
  useEffect(() => {
    let isCurrent = true;
    load()?.then(
      (value) => {
        if (isCurrent) setLoaded({ value, inputs });
      },
      (error: unknown) => {
        if (isCurrent) setLoaded({ problem: errorText(error), inputs });
      },
    );
    return () => {
      isCurrent = false;
    };
  }, inputs);
  const isOfInputs = loaded.inputs?.every((input, index) => input === inputs[index]) === true;
  return isOfInputs ? loaded : {};
}

/** Shows a value as a tree, table, text, JSON, or image. Large values are processed in a worker. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { errorText } from '../../src/common/errors.ts';
import type { Json } from '../../src/common/json.ts';
import { bytes as bytesText } from '../../src/common/units.ts';
import { isBlobRef } from '../../src/trace/values/keys.ts';
import { Button, Dropdown } from '../components/controls.tsx';
import { VirtualList } from '../components/virtualList.tsx';
import type { Blobs } from '../data/blobs.ts';
import type { Form, ValueRow } from './valueDocument.ts';
import { Sign, type ValueMark, type ValueMarks } from './valueMarks.tsx';
import { sourceOf, type ValueSource } from './valueSource.ts';
import { ValueTree } from './valueTree.tsx';
import './values.css';

const FORM_NAMES: Readonly<Record<Form, string>> = {
  tree: 'Tree',
  table: 'Table',
  text: 'Text',
  json: 'JSON',
  image: 'Image',
};
const LINE_HEIGHT = 18;
const MAX_VISIBLE_LINES = 28;
/** Longer texts are in a virtual list. */
const PLAIN_LINES = 40;
/** Lines per request. */
const SLICE_LINES = 100;

export interface ValueViewProps {
  readonly title: string;
  /** Label for screen readers, if several values have the same title. */
  readonly label?: string;
  readonly value: Json;
  /** The value to compare with in the tree. */
  readonly baseline?: Json | undefined;
  /** Places to mark: JSON pointers, or `line 3` of a text. */
  readonly marks?: ValueMarks | undefined;
  readonly blobs: Blobs;
  readonly onCopy: (text: string) => void;
  /** Opens the value in an editor. Absent if there is none. */
  readonly onDocument?: ((title: string, text: string, language: string) => void) | undefined;
  /** Controls next to the title. */
  readonly children?: ComponentChildren;
}

export function ValueView({
  title,
  label = title,
  value,
  baseline,
  marks,
  blobs,
  onCopy,
  onDocument,
  children,
}: ValueViewProps) {
  const { source, problem } = useSource(value, baseline, blobs);
  const [chosen, setChosen] = useState<Form>();
  const forms = source?.shape.forms ?? [];
  const form = chosen !== undefined && forms.includes(chosen) ? chosen : forms[0];
  const withWhole = (use: (text: string, language: string) => void): void => {
    void source?.ask({ what: 'whole' }).then(({ text, language }) => use(text, language));
  };
  return (
    <section class="value" aria-label={label}>
      <header class="section-head">
        <h3>{title}</h3>
        {isBlobRef(value) && <span class="dim">{bytesText(value.bytes)}</span>}
        {children}
        <span class="grow" />
        {forms.length > 1 && (
          <Dropdown
            label={`View ${title.toLowerCase()} as`}
            value={form ?? ''}
            options={forms.map((name) => ({ value: name, text: FORM_NAMES[name] }))}
            onChange={(name) => setChosen(forms.find((each) => each === name))}
          />
        )}
        {onDocument !== undefined && (
          <Button
            kind="icon"
            icon="go-to-file"
            label={`Open ${title.toLowerCase()} in an editor`}
            onClick={() => withWhole((text, language) => onDocument(title, text, language))}
          />
        )}
        <Button
          kind="icon"
          icon="copy"
          label={`Copy ${title.toLowerCase()}`}
          onClick={() => withWhole((text) => onCopy(text))}
        />
      </header>
      {problem !== undefined && (
        <p class="value-problem" role="alert">
          {problem}
        </p>
      )}
      {source === undefined ? (
        isBlobRef(value) &&
        problem === undefined && (
          <pre class="value-text dim" aria-busy="true">
            {value.head}
          </pre>
        )
      ) : (
        <Body title={title} source={source} form={form} marks={marks} />
      )}
    </section>
  );
}

/** Returns the source of a value. Small values have one immediately, so that nothing flickers. */
function useSource(
  value: Json,
  baseline: Json | undefined,
  blobs: Blobs,
): { source?: ValueSource | undefined; problem?: string | undefined } {
  const created = useMemo(
    () => sourceOf(value, blobs, baseline === undefined || isBlobRef(baseline) ? undefined : baseline),
    [value, baseline, blobs],
  );
  const [loaded, setLoaded] = useState<{
    readonly request: unknown;
    readonly source?: ValueSource;
    readonly problem?: string;
  }>();
  useEffect(() => {
    if (!(created instanceof Promise)) return;
    created.then(
      (source) => setLoaded({ request: created, source }),
      (error: unknown) => setLoaded({ request: created, problem: errorText(error) }),
    );
  }, [created]);
  if (!(created instanceof Promise)) return { source: created };
  return loaded?.request === created ? loaded : {};
}

function Body({
  title,
  source,
  form,
  marks,
}: {
  readonly title: string;
  readonly source: ValueSource;
  readonly form: Form | undefined;
  readonly marks: ValueMarks | undefined;
}) {
  switch (form) {
    case 'tree':
      return <TreeForm title={title} source={source} marks={marks} />;
    case 'table':
      return <TableForm title={title} source={source} />;
    case 'image':
      return <img class="value-image" src={source.shape.image} alt={title} />;
    case 'text':
    case 'json':
      return (
        <LinesForm key={form} title={title} source={source} form={form} marks={form === 'text' ? marks : undefined} />
      );
    case undefined:
      return null;
  }
}

function TreeForm({
  title,
  source,
  marks,
}: {
  readonly title: string;
  readonly source: ValueSource;
  readonly marks: ValueMarks | undefined;
}) {
  const [open, setOpen] = useState<ReadonlySet<string> | undefined>(() =>
    source.document === undefined ? undefined : new Set(source.document.firstOpen()),
  );
  const [of, setOf] = useState(source);
  const [loadedRows, setLoadedRows] = useState<readonly ValueRow[]>([]);
  const first = of !== source;
  const current = first ? (source.document === undefined ? undefined : new Set(source.document.firstOpen())) : open;
  if (first) {
    setOf(source);
    setOpen(current);
  }
  useEffect(() => {
    if (source.document !== undefined) return;
    const { signal, abort } = abortable();
    void (async () => {
      const keys = current === undefined ? await source.ask({ what: 'firstOpen' }) : [...current];
      const rows = await source.ask({ what: 'rows', open: keys });
      if (signal.aborted) return;
      if (current === undefined) setOpen(new Set(keys));
      setLoadedRows(rows);
    })();
    return abort;
  }, [source, current]);
  const rows = useMemo(
    () => (source.document !== undefined && current !== undefined ? source.document.rows(current) : loadedRows),
    [source, current, loadedRows],
  );
  const toggle = (key: string, opened: boolean): void => {
    const next = new Set(current);
    if (opened) next.add(key);
    else next.delete(key);
    setOpen(next);
  };
  if (rows.length === 0) return <p class="value-empty dim">Empty</p>;
  return <ValueTree label={title} rows={rows} marks={marks} onToggle={toggle} />;
}

function LinesForm({
  title,
  source,
  form,
  marks,
}: {
  readonly title: string;
  readonly source: ValueSource;
  readonly form: 'text' | 'json';
  readonly marks: ValueMarks | undefined;
}) {
  const [loadedCount, setLoadedCount] = useState<{ readonly source: ValueSource; readonly count: number }>();
  useEffect(() => {
    if (source.document === undefined)
      void source.ask({ what: 'count', form }).then((count) => setLoadedCount({ source, count }));
  }, [source, form]);
  const count = source.document?.count(form) ?? (loadedCount?.source === source ? loadedCount.count : 0);
  const slices = useSlices(
    count,
    SLICE_LINES,
    (from, to) => source.ask({ what: 'lines', form, from, to }),
    source,
    form,
  );
  if (source.document !== undefined && count <= PLAIN_LINES) {
    const lines = source.document.lines(form, 0, count);
    const text = lines.join('\n');
    return text === '' ? (
      <p class="value-empty dim">Empty text</p>
    ) : (
      <pre class="value-text" tabIndex={0}>
        {marks === undefined
          ? text
          : lines.map((line, index) => <MarkedLine line={line} mark={marks.get(lineKey(index))} />)}
      </pre>
    );
  }
  return (
    <div class="value-lines" style={{ height: `${Math.min(count, MAX_VISIBLE_LINES) * LINE_HEIGHT}px` }}>
      <VirtualList
        count={count}
        rowHeight={LINE_HEIGHT}
        label={title}
        role="list"
        selected={-1}
        keyOf={(index) => index}
        onSelect={() => undefined}
        row={(index) => (
          <code class="value-line">
            <MarkedLine line={slices(index) ?? ' '} mark={marks?.get(lineKey(index))} />
          </code>
        )}
      />
    </div>
  );
}

/** The key of a line's mark. */
function lineKey(index: number): string {
  return `line ${index + 1}`;
}

function MarkedLine({ line, mark }: { readonly line: string; readonly mark: ValueMark | undefined }) {
  return mark === undefined ? (
    <span>{`${line}\n`}</span>
  ) : (
    <span class={`value-marked-line is-${mark.side}${mark.counts ? '' : ' is-plausible'}`}>
      <Sign mark={mark} />
      {`${line}\n`}
    </span>
  );
}

function TableForm({ title, source }: { readonly title: string; readonly source: ValueSource }) {
  const table = source.shape.table ?? { columns: [], rows: 0 };
  const [limit, setLimit] = useState(50);
  const [cells, setCells] = useState<readonly (readonly string[])[]>(() => source.document?.cells(0, limit) ?? []);
  useEffect(() => {
    const { signal, abort } = abortable();
    void source.ask({ what: 'cells', from: 0, to: limit }).then((loaded) => {
      if (!signal.aborted) setCells(loaded);
    });
    return abort;
  }, [source, limit]);
  return (
    <div class="value-table" tabIndex={0} role="region" aria-label={`${title}, table`}>
      <table>
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cells.map((row, index) => (
            <tr key={index}>
              {row.map((cell, place) => (
                <td key={place} title={cell}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {table.rows > limit && (
        <Button
          kind="secondary"
          label={`Show ${Math.min(200, table.rows - limit)} more (${table.rows - limit} remaining)`}
          onClick={() => setLimit(limit + 200)}
        />
      )}
    </div>
  );
}

/** Returns a signal for an effect, and the function that aborts it. */
function abortable(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

/** Returns a function that reads items of a long list. Fetches slices on first use, then renders again. */
function useSlices<T>(
  count: number,
  size: number,
  fetch: (from: number, to: number) => Promise<readonly T[]>,
  ...dependencies: readonly unknown[]
): (index: number) => T | undefined {
  const [, render] = useState(0);
  const slices = useMemo(() => new Map<number, readonly T[] | 'pending'>(), dependencies);
  return (index) => {
    const slice = Math.floor(index / size);
    const items = slices.get(slice);
    if (items === undefined) {
      slices.set(slice, 'pending');
      void fetch(slice * size, Math.min(count, (slice + 1) * size)).then((fetched) => {
        slices.set(slice, fetched);
        render((version) => version + 1);
      });
    }
    return items === undefined || items === 'pending' ? undefined : items[index - slice * size];
  };
}

/** A value in whatever form suits it: tree, table, text, JSON, picture. Large ones are taken apart in a worker. */
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
import { sourceOf, type ValueSource } from './valueSource.ts';
import { ValueTree } from './valueTree.tsx';
import './values.css';

const FORM_NAMES: Readonly<Record<Form, string>> = {
  tree: 'Tree',
  table: 'Table',
  text: 'Text',
  json: 'JSON',
  image: 'Picture',
};
const LINE_HEIGHT = 18;
const LINES_IN_SIGHT = 28;
/** Texts up to this many lines stand on the page as they are. */
const PLAIN_LINES = 40;
/** Lines asked for beyond those in sight. */
const AHEAD = 100;

export interface ValueViewProps {
  readonly title: string;
  /** For screen readers, where several of one title are seen at once. */
  readonly label?: string;
  readonly value: Json;
  /** What it is compared with, in the tree. */
  readonly against?: Json | undefined;
  readonly blobs: Blobs;
  readonly onCopy: (text: string) => void;
  /** Opens it as a document of its own; absent where there is nothing to open it in. */
  readonly onDocument?: ((title: string, text: string, language: string) => void) | undefined;
  /** Beside the title. */
  readonly children?: ComponentChildren;
}

export function ValueView({
  title,
  label = title,
  value,
  against,
  blobs,
  onCopy,
  onDocument,
  children,
}: ValueViewProps) {
  const { source, problem } = useSource(value, against, blobs);
  const [chosen, setChosen] = useState<Form>();
  const forms = source?.shape.forms ?? [];
  const form = chosen !== undefined && forms.includes(chosen) ? chosen : forms[0];
  const whole = (use: (text: string, language: string) => void): void => {
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
            label={`${title}: shown as`}
            value={form ?? ''}
            options={forms.map((name) => ({ value: name, text: FORM_NAMES[name] }))}
            onChange={(name) => setChosen(forms.find((known) => known === name))}
          />
        )}
        {onDocument !== undefined && (
          <Button
            kind="icon"
            icon="go-to-file"
            label={`Open ${title.toLowerCase()} in an editor`}
            onClick={() => whole((text, language) => onDocument(title, text, language))}
          />
        )}
        <Button
          kind="icon"
          icon="copy"
          label={`Copy ${title.toLowerCase()}`}
          onClick={() => whole((text) => onCopy(text))}
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
        <Body title={title} source={source} form={form} />
      )}
    </section>
  );
}

/** Small values are there at once, so that nothing flickers between two of them. */
function useSource(
  value: Json,
  against: Json | undefined,
  blobs: Blobs,
): { source?: ValueSource | undefined; problem?: string | undefined } {
  const made = useMemo(
    () => sourceOf(value, blobs, against === undefined || isBlobRef(against) ? undefined : against),
    [value, against, blobs],
  );
  const [loaded, setLoaded] = useState<{
    readonly of: unknown;
    readonly source?: ValueSource;
    readonly problem?: string;
  }>();
  useEffect(() => {
    if (!(made instanceof Promise)) return;
    made.then(
      (source) => setLoaded({ of: made, source }),
      (error: unknown) => setLoaded({ of: made, problem: errorText(error) }),
    );
  }, [made]);
  if (!(made instanceof Promise)) return { source: made };
  return loaded?.of === made ? loaded : {};
}

function Body({
  title,
  source,
  form,
}: {
  readonly title: string;
  readonly source: ValueSource;
  readonly form: Form | undefined;
}) {
  switch (form) {
    case 'tree':
      return <TreeForm title={title} source={source} />;
    case 'table':
      return <TableForm title={title} source={source} />;
    case 'image':
      return <img class="value-image" src={source.shape.image} alt={title} />;
    case 'text':
    case 'json':
      return <LinesForm key={form} title={title} source={source} form={form} />;
    case undefined:
      return null;
  }
}

function TreeForm({ title, source }: { readonly title: string; readonly source: ValueSource }) {
  const [open, setOpen] = useState<ReadonlySet<string> | undefined>(() =>
    source.document === undefined ? undefined : new Set(source.document.firstOpen()),
  );
  const [of, setOf] = useState(source);
  const [asked, setAsked] = useState<readonly ValueRow[]>([]);
  const first = of !== source;
  const current = first ? (source.document === undefined ? undefined : new Set(source.document.firstOpen())) : open;
  if (first) {
    setOf(source);
    setOpen(current);
  }
  useEffect(() => {
    if (source.document !== undefined) return;
    const { signal, abort } = stopper();
    void (async () => {
      const keys = current === undefined ? await source.ask({ what: 'firstOpen' }) : [...current];
      const rows = await source.ask({ what: 'rows', open: keys });
      if (signal.aborted) return;
      if (current === undefined) setOpen(new Set(keys));
      setAsked(rows);
    })();
    return abort;
  }, [source, current]);
  const rows = useMemo(
    () => (source.document !== undefined && current !== undefined ? source.document.rows(current) : asked),
    [source, current, asked],
  );
  const toggle = (key: string, opened: boolean): void => {
    const next = new Set(current);
    if (opened) next.add(key);
    else next.delete(key);
    setOpen(next);
  };
  if (rows.length === 0) return <p class="value-empty dim">empty</p>;
  return <ValueTree label={title} rows={rows} onToggle={toggle} />;
}

function LinesForm({
  title,
  source,
  form,
}: {
  readonly title: string;
  readonly source: ValueSource;
  readonly form: 'text' | 'json';
}) {
  const [counted, setCounted] = useState<{ readonly of: ValueSource; readonly count: number }>();
  useEffect(() => {
    if (source.document === undefined)
      void source.ask({ what: 'count', form }).then((count) => setCounted({ of: source, count }));
  }, [source, form]);
  const count = source.document?.count(form) ?? (counted?.of === source ? counted.count : 0);
  const slices = useSlices(count, AHEAD, (from, to) => source.ask({ what: 'lines', form, from, to }), source, form);
  if (source.document !== undefined && count <= PLAIN_LINES) {
    const text = source.document.lines(form, 0, count).join('\n');
    return text === '' ? (
      <p class="value-empty dim">empty text</p>
    ) : (
      <pre class="value-text" tabIndex={0}>
        {text}
      </pre>
    );
  }
  return (
    <div class="value-lines" style={{ height: `${Math.min(count, LINES_IN_SIGHT) * LINE_HEIGHT}px` }}>
      <VirtualList
        count={count}
        rowHeight={LINE_HEIGHT}
        label={title}
        role="list"
        selected={-1}
        keyOf={(index) => index}
        onSelect={() => undefined}
        row={(index) => <code class="value-line">{slices(index) ?? ' '}</code>}
      />
    </div>
  );
}

function TableForm({ title, source }: { readonly title: string; readonly source: ValueSource }) {
  const table = source.shape.table ?? { columns: [], rows: 0 };
  const [limit, setLimit] = useState(50);
  const [cells, setCells] = useState<readonly (readonly string[])[]>(() => source.document?.cells(0, limit) ?? []);
  useEffect(() => {
    const { signal, abort } = stopper();
    void source.ask({ what: 'cells', from: 0, to: limit }).then((got) => {
      if (!signal.aborted) setCells(got);
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
          label={`Show ${Math.min(200, table.rows - limit)} more of ${table.rows - limit}`}
          onClick={() => setLimit(limit + 200)}
        />
      )}
    </div>
  );
}

/** What a look that is over does not wait for any more. */
function stopper(): { readonly signal: AbortSignal; readonly abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

/** Pieces of a long list that is somewhere else, fetched when they come into sight. */
function useSlices<T>(
  count: number,
  size: number,
  fetch: (from: number, to: number) => Promise<readonly T[]>,
  ...of: readonly unknown[]
): (index: number) => T | undefined {
  const [, draw] = useState(0);
  const held = useMemo(() => new Map<number, readonly T[] | 'asked'>(), of);
  return (index) => {
    const piece = Math.floor(index / size);
    const got = held.get(piece);
    if (got === undefined) {
      held.set(piece, 'asked');
      void fetch(piece * size, Math.min(count, (piece + 1) * size)).then((items) => {
        held.set(piece, items);
        draw((version) => version + 1);
      });
    }
    return got === undefined || got === 'asked' ? undefined : got[index - piece * size];
  };
}

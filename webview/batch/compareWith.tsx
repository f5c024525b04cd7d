/** Chooses the batch to compare with: a list of the others, newest first, with a filter field. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { errorText } from '../../src/common/errors.ts';
import { count } from '../../src/common/units.ts';
import type { BatchRow } from '../../src/protocol/client.ts';
import { Button, TextField } from '../components/controls.tsx';
import { Skeleton } from '../components/notices/skeleton.tsx';
import { VirtualList } from '../components/virtualList.tsx';
import type { BatchActions } from './batchActions.ts';
import type { BatchView } from './batchView.ts';

/** Number of newest batches to list; older ones can be compared by link or from the command line. */
const MAX_BATCHES = 200;
const ROW = 24;

export function CompareWith({
  view,
  actions,
  onClose,
}: {
  readonly view: BatchView;
  readonly actions: BatchActions;
  readonly onClose: () => void;
}) {
  const [batches, setBatches] = useState<readonly BatchRow[]>();
  const [problem, setProblem] = useState<string>();
  const [text, setText] = useState('');
  const [selected, setSelected] = useState(0);
  const field = useRef<HTMLElement | null>(null);
  const { api, batch } = view.data;
  // Before it is painted, so that a key pressed as soon as it shows reaches it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    field.current?.focus();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  useEffect(() => {
    const stop = new AbortController();
    api.batches({ limit: MAX_BATCHES }, stop.signal).then(
      (page) => setBatches(page.batches.filter((row) => row.batch !== batch)),
      (error: unknown) => {
        if (!stop.signal.aborted) setProblem(errorText(error));
      },
    );
    return () => stop.abort();
  }, [api, batch]);
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const visible = (batches ?? []).filter((row) =>
    words.every((word) => `${row.name} ${row.batch} ${when(row)}`.toLowerCase().includes(word)),
  );
  const go = (index: number): void => setSelected(Math.max(0, Math.min(visible.length - 1, index)));
  const open = (index: number): void => {
    const row = visible[index];
    if (row === undefined) return;
    onClose();
    actions.compareWith(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') onClose();
    else if (event.key === 'ArrowDown') go(selected + 1);
    else if (event.key === 'ArrowUp') go(selected - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="overlay" onClick={onClose}>
      <div
        class="keys-overlay compare-with"
        role="dialog"
        aria-modal="true"
        aria-label="Compare with another batch"
        onClick={(event) => event.stopPropagation()}
        onKeyDown={onKeyDown}
      >
        <header>
          <h2>Compare {view.data.row?.name} with</h2>
          <span class="grow" />
          <Button kind="icon" icon="close" label="Close" onClick={onClose} />
        </header>
        <TextField
          label="Name of the other batch"
          placeholder="Name"
          icon="search"
          value={text}
          inputRef={field}
          onInput={(value) => {
            setText(value);
            setSelected(0);
          }}
          onEnter={() => open(selected)}
        />
        <div class="compare-with-list">
          {problem !== undefined ? (
            <p role="alert">{problem}</p>
          ) : batches === undefined ? (
            <Skeleton />
          ) : visible.length === 0 ? (
            <p class="batch-dim" role="status">
              {batches.length === 0 ? 'There are no other batches in this store.' : 'No matching batches.'}
            </p>
          ) : (
            <VirtualList
              count={visible.length}
              rowHeight={ROW}
              label="Batches"
              role="listbox"
              selected={selected}
              keyOf={(index) => visible[index]?.batch ?? index}
              onSelect={go}
              onOpen={open}
              row={(index) => {
                const row = visible[index];
                return row === undefined ? null : <Line row={row} />;
              }}
            />
          )}
        </div>
      </div>
    </div>
  );
}

function Line({ row }: { readonly row: BatchRow }) {
  const { name, tasks, attempts, counts } = row;
  return (
    <div class="compare-with-row" title={row.batch}>
      <span class="compare-with-name">{name}</span>
      <span>
        {count(tasks)} × {count(attempts)}
      </span>
      <span>
        {count(counts.passed)}/{count(counts.passed + counts.failed)} passed
      </span>
      <span class="compare-with-when">{when(row)}</span>
    </div>
  );
}

function when({ created_at: at }: BatchRow): string {
  return new Date(at).toLocaleString();
}

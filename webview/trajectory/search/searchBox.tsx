/** The search field, and the filter of the step list next to it. */
import { useEffect, useState } from 'preact/hooks';
import { count } from '../../../src/common/units.ts';
import { Button, TextField } from '../../components/controls.tsx';
import type { IconName } from '../../components/marks/icon.tsx';
import { useKeys } from '../../keys.ts';
import type { TrajectorySession } from '../session.ts';
import { FILTERS, type Filter } from '../steps/rows.ts';
import { type SearchResult, search } from './searcher.ts';
import './search.css';

const FILTER_ICONS: Readonly<Record<Filter, IconName>> = {
  messages: 'comment',
  calls: 'tools',
  errors: 'warning',
  world: 'database',
  logs: 'output',
};
/** The search starts after typing has paused this long. */
const PAUSE_MS = 150;

export function SearchBox({
  session,
  inputRef,
}: {
  readonly session: TrajectorySession;
  readonly inputRef: { current: HTMLElement | null };
}) {
  const [text, setText] = useState('');
  const [result, setResult] = useState<SearchResult>();
  useEffect(() => {
    if (text.trim() === '') {
      setResult(undefined);
      session.mark(undefined);
      return;
    }
    const stop = new AbortController();
    const deliver = (delivered: SearchResult): void => {
      setResult(delivered);
      session.mark(delivered);
    };
    const timer = setTimeout(
      () => void search(session.data, (seq) => session.rowAt(seq)?.seq, text, deliver, stop.signal),
      PAUSE_MS,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, session]);
  const found = result?.found ?? [];
  const next = (distance: 1 | -1): void => {
    const to =
      distance === 1
        ? (found.find((seq) => seq > session.seq) ?? found[0])
        : (found.findLast((seq) => seq < session.seq) ?? found.at(-1));
    if (to === undefined) return;
    session.go(to);
  };
  useKeys({ F3: () => next(1), 'shift+F3': () => next(-1) });
  const toggle = (filter: Filter): void => {
    const only = new Set(session.only);
    if (!only.delete(filter)) only.add(filter);
    session.filter(only);
  };
  return (
    <div class="search-box" role="search">
      <TextField
        value={text}
        label="Search steps, arguments, and results"
        placeholder="Search steps, arguments, and results"
        icon="search"
        inputRef={inputRef}
        invalid={result?.problem !== undefined}
        onInput={setText}
        onEnter={(shift) => next(shift ? -1 : 1)}
        onEscape={() => {
          setText('');
          inputRef.current?.blur();
        }}
      />
      {result !== undefined && text !== '' && (
        <span
          class="search-count"
          role="status"
          title={result.problem ?? `${result.explain}. Only the beginning of large values is searched.`}
        >
          {result.problem ?? `${found.length === 0 ? 'none' : count(found.length)}${result.done ? '' : ' …'}`}
        </span>
      )}
      {found.length > 0 && text !== '' && (
        <Button kind="icon" icon="arrow-right" label="Next match" title="Next match (Enter)" onClick={() => next(1)} />
      )}
      <span class="search-filters" role="group" aria-label="Show only">
        {FILTERS.map((filter) => (
          <Button
            key={filter}
            kind="icon"
            icon={FILTER_ICONS[filter]}
            label={`Only ${filter}`}
            pressed={session.only.has(filter)}
            onClick={() => toggle(filter)}
          />
        ))}
      </span>
    </div>
  );
}

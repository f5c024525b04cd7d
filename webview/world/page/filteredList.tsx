/** A list of the page with a field that filters it by words. */
import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { VirtualList } from '../../components/virtualList.tsx';
import { FilterField, hasWords } from './filterField.tsx';

interface FilteredListProps<T> {
  /** What the items are, such as “Tasks”. */
  readonly label: string;
  readonly filterLabel: string;
  readonly items: readonly T[];
  readonly rowHeight: number;
  readonly class?: string;
  readonly keyOf: (item: T) => string;
  /** Returns the text that is searched. */
  readonly textOf: (item: T) => string;
  readonly row: (item: T) => VNode;
  readonly isSelected: (item: T, index: number) => boolean;
  readonly onSelect: (item: T, index: number) => void;
  readonly onOpen?: (item: T) => void;
}

export function FilteredList<T>({
  label,
  filterLabel,
  items,
  rowHeight,
  class: more = '',
  keyOf,
  textOf,
  row,
  isSelected,
  onSelect,
  onOpen,
}: FilteredListProps<T>) {
  const [words, setWords] = useState('');
  const rows = useRef<HTMLDivElement>(null);
  const shown = [...items.entries()].filter(([, item]) => hasWords(words, textOf(item)));
  const use = <R,>(at: number, then: (item: T, index: number) => R): R | undefined => {
    const entry = shown[at];
    return entry === undefined ? undefined : then(entry[1], entry[0]);
  };
  const selected = shown.findIndex(([index, item]) => isSelected(item, index));
  const focusRows = (): void => {
    if (selected === -1) use(0, onSelect);
    rows.current?.querySelector<HTMLElement>('[role="listbox"]')?.focus();
  };
  return (
    <section class={`world-list ${more}`.trim()} aria-label={label}>
      <FilterField
        label={filterLabel}
        value={words}
        onInput={setWords}
        matches={shown.length}
        of={items.length}
        onLeave={focusRows}
      />
      <div class="world-list-rows" ref={rows}>
        <VirtualList
          count={shown.length}
          rowHeight={rowHeight}
          label={label}
          role="listbox"
          selected={selected}
          keyOf={(at) => use(at, keyOf) ?? at}
          row={(at) => use(at, row) ?? null}
          onSelect={(at) => use(at, onSelect)}
          {...(onOpen === undefined ? {} : { onOpen: (at: number) => use(at, onOpen) })}
        />
      </div>
    </section>
  );
}

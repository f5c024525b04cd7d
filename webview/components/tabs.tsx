/** Tabs and their panel. */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

interface TabEntry {
  readonly id: string;
  readonly label: string;
  readonly badge?: string;
}

export function Tabs({
  label,
  tabs,
  selected,
  onSelect,
}: {
  readonly label: string;
  readonly tabs: readonly TabEntry[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(({ id }) => id === selected);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
    const next = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onSelect(next.id);
    list.current?.querySelector<HTMLElement>(`#tab-${next.id}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
      {tabs.map(({ id, label: text, badge }) => (
        <button
          key={id}
          type="button"
          id={`tab-${id}`}
          role="tab"
          class="tab"
          aria-selected={id === selected}
          aria-controls={`panel-${id}`}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {text}
          {badge !== undefined && <span class="tab-badge">{badge}</span>}
        </button>
      ))}
    </div>
  );
}

export function TabPanel({
  id,
  label,
  children,
}: {
  readonly id: string;
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="tab-panel" role="tabpanel" id={`panel-${id}`} aria-label={label}>
      {children}
    </div>
  );
}

/** Tabs and their panel. Tabs without room are in a menu. */
import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { MenuButton } from './overlays/menu.tsx';
import { tabsInRoom } from './tabsInRoom.ts';

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
  const shown = useShown(list, tabs, selected);
  /** The tab to focus as soon as it is selected and visible: it may come from the menu. */
  const next = useRef<string>(undefined);
  useLayoutEffect(() => {
    if (next.current !== selected || !shown.some((index) => tabs[index]?.id === selected)) return;
    next.current = undefined;
    list.current?.querySelector<HTMLElement>(`#tab-${selected}`)?.focus();
  });
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = tabs.findIndex(({ id }) => id === selected);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
    const tab = to === undefined ? undefined : tabs[(to + tabs.length) % tabs.length];
    if (tab === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    next.current = tab.id;
    onSelect(tab.id);
  };
  const others = tabs.filter((_, index) => !shown.includes(index));
  return (
    <div class="tabs">
      <div class="tab-list" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map(({ id, label: text, badge }, index) => (
          <button
            key={id}
            type="button"
            id={`tab-${id}`}
            role="tab"
            class={`tab${shown.includes(index) ? '' : ' is-hidden'}`}
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
      {others.length > 0 && (
        <MenuButton
          label="More tabs"
          icon="ellipsis"
          entries={others.map(({ id, label: text, badge }) => ({
            label: badge === undefined ? text : `${text} ${badge}`,
            onClick: () => onSelect(id),
          }))}
        />
      )}
    </div>
  );
}

/** Returns the indexes of the tabs that have room. Hidden ones keep their width, so that they can be measured. */
function useShown(
  list: RefObject<HTMLDivElement | null>,
  tabs: readonly TabEntry[],
  selected: string,
): readonly number[] {
  const [shown, setShown] = useState<readonly number[]>(() => [...tabs.keys()]);
  const at = tabs.findIndex(({ id }) => id === selected);
  useLayoutEffect(() => {
    const whole = list.current?.parentElement;
    if (list.current === null || whole === null || whole === undefined) return;
    const { children } = list.current;
    const measure = (): void => {
      const style = getComputedStyle(whole);
      const room = whole.clientWidth - Number.parseFloat(style.paddingLeft) - Number.parseFloat(style.paddingRight);
      const widths = [...children].map((child) => child.getBoundingClientRect().width);
      const next = tabsInRoom(widths, room, at);
      setShown((before) => (before.join() === next.join() ? before : next));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(whole);
    return () => observer.disconnect();
  });
  return shown;
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

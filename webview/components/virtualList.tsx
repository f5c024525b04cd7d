/** A list of rows of equal height. Renders only the visible ones, so it can have any number of rows. */
import type { HTMLAttributes, VNode } from 'preact';
import { useEffect, useId, useLayoutEffect, useReducer, useRef, useState } from 'preact/hooks';
import { reportFirstRows } from './afterFirstRows.ts';

interface VirtualListProps {
  readonly count: number;
  /** In pixels. */
  readonly rowHeight: number;
  /** Name for screen readers. */
  readonly label: string;
  readonly role: 'listbox' | 'list' | 'tree';
  /** −1: none. */
  readonly selected: number;
  readonly keyOf: (index: number) => string | number;
  readonly row: (index: number) => VNode | null;
  readonly onSelect: (index: number) => void;
  /** Called on Enter and double click. */
  readonly onOpen?: (index: number) => void;
  /** Whether to stay at the end while rows are added. */
  readonly follow?: boolean;
  /** Called when the user scrolls up in `follow` mode. */
  readonly onScrolledAway?: () => void;
  readonly rowProps?: (index: number) => HTMLAttributes<HTMLDivElement>;
  /** Changes when rows are inserted or removed. The selected row then keeps its position on the screen. */
  readonly layout?: unknown;
}

const ITEM_ROLES = { listbox: 'option', list: 'listitem', tree: 'treeitem' } as const;
/** Rows to render beyond each edge. */
const OVERSCAN = 8;

export function VirtualList({
  count,
  rowHeight,
  label,
  role,
  selected,
  keyOf,
  row,
  onSelect,
  onOpen,
  follow = false,
  onScrolledAway,
  rowProps,
  layout,
}: VirtualListProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const [height, setHeight] = useState(0);
  const [, render] = useReducer((count: number) => count + 1, 0);
  /** Scroll position in pixels. */
  const at = useRef(0);
  const key = selected < 0 ? undefined : keyOf(selected);
  const previous = useRef({ layout, selected, key });
  const shifted =
    previous.current.layout === layout || key === undefined || previous.current.key !== key
      ? 0
      : selected - previous.current.selected;
  previous.current = { layout, selected, key };
  at.current = Math.max(0, at.current + shifted * rowHeight);
  // In follow mode, render the end immediately, not first the previous position.
  const top = follow && height > 0 ? Math.max(0, count * rowHeight - height) : at.current;
  /** The last position this component scrolled to, to distinguish its scroll events from those of the user. */
  const own = useRef(-1);

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    setHeight(element.clientHeight);
    const observer = new ResizeObserver(([entry]) => setHeight(entry?.contentRect.height ?? 0));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    if (count > 0 && height > 0) reportFirstRows();
  }, [count === 0 || height === 0]);

  const scrollTo = (to: number): void => {
    const element = scroller.current;
    const next = Math.max(0, Math.min(to, count * rowHeight - height));
    if (element === null || next === top) return;
    own.current = next;
    element.scrollTop = next;
    at.current = next;
    render(undefined);
  };
  useLayoutEffect(() => {
    if (shifted === 0 || scroller.current === null) return;
    own.current = at.current;
    scroller.current.scrollTop = at.current;
  });
  // Scroll to the selected row when it changes, not when the user scrolls.
  useEffect(() => {
    if (selected < 0 || height === 0 || shifted !== 0) return;
    if (selected * rowHeight < top) scrollTo(selected * rowHeight);
    else if ((selected + 1) * rowHeight > top + height) scrollTo((selected + 1) * rowHeight - height);
  }, [selected, height === 0]);
  // A list that becomes lower, e.g. for a banner that arrives later, keeps showing the selected row.
  const heightBefore = useRef(height);
  useEffect(() => {
    const bottom = at.current + heightBefore.current;
    heightBefore.current = height;
    const end = (selected + 1) * rowHeight;
    if (selected >= 0 && height > 0 && end <= bottom && end > at.current + height) scrollTo(end - height);
  }, [height]);
  useLayoutEffect(() => {
    if (!follow || scroller.current === null || height === 0) return;
    own.current = top;
    at.current = top;
    scroller.current.scrollTop = top;
  }, [follow, count, height]);

  const onScroll = (event: Event): void => {
    const { scrollTop } = event.currentTarget as HTMLElement;
    if (follow && scrollTop < top && Math.abs(scrollTop - own.current) > 1) onScrolledAway?.();
    at.current = scrollTop;
    if (Math.abs(scrollTop - top) >= 1) render(undefined);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const page = Math.max(1, Math.floor(height / rowHeight) - 1);
    const to = {
      ArrowDown: selected + 1,
      ArrowUp: selected - 1,
      PageDown: selected + page,
      PageUp: selected - page,
      Home: 0,
      End: count - 1,
    }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      if (count > 0) onSelect(Math.max(0, Math.min(count - 1, to)));
    } else if (event.key === 'Enter' && selected >= 0 && onOpen !== undefined) {
      event.preventDefault();
      onOpen(selected);
    }
  };

  const first = Math.max(0, Math.floor(top / rowHeight) - OVERSCAN);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + OVERSCAN);
  const rows: VNode[] = [];
  for (let index = first; index < last; index++) {
    const isSelected = index === selected;
    rows.push(
      <div
        key={keyOf(index)}
        id={`${id}-${index}`}
        role={ITEM_ROLES[role]}
        class={`list-row${isSelected ? ' is-selected' : ''}`}
        style={{ top: `${index * rowHeight}px`, height: `${rowHeight}px` }}
        aria-posinset={index + 1}
        aria-setsize={count}
        {...(role === 'list' ? {} : { 'aria-selected': isSelected })}
        {...rowProps?.(index)}
        onClick={() => onSelect(index)}
        onDblClick={() => onOpen?.(index)}
      >
        {row(index)}
      </div>,
    );
  }
  const active = selected >= first && selected < last ? { 'aria-activedescendant': `${id}-${selected}` } : {};
  return (
    <div
      class="virtual-list"
      ref={scroller}
      role={role}
      aria-label={label}
      tabIndex={0}
      {...(role === 'list' ? {} : active)}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div class="virtual-list-size" role="presentation" style={{ height: `${count * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  );
}

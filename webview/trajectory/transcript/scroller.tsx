/** A list of rows of any height. Renders only the visible ones and measures them, so it can have any number of rows. */
import type { ArticleHTMLAttributes, VNode } from 'preact';
import { useEffect, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import { reportFirstRows } from '../../components/afterFirstRows.ts';
import { Heights } from '../../components/heights.ts';
import { placeOf } from './rows.ts';

interface ScrollerProps<T extends { readonly seq: number }> {
  /** Another list when rows are inserted or removed; rows can be appended to the same one. */
  readonly rows: readonly T[];
  readonly selected: number;
  /** Whether to stay at the end. */
  readonly follow: boolean;
  readonly onScrolledAway: () => void;
  /** Whether to render all rows. */
  readonly whole: boolean;
  /** Returns the expected height of a row in pixels. */
  readonly estimate: (row: T) => number;
  readonly row: (row: T, index: number) => VNode;
  readonly rowProps: (row: T, index: number) => ArticleHTMLAttributes;
  /** Called with the indexes of the first and the last row on the screen. */
  readonly onShowing: (first: number, last: number) => void;
  /** Set to a function that scrolls a row to the middle. */
  readonly control: { scroller: ((index: number) => void) | undefined };
  /** Called after each rendering. May return a place on the screen that must be visible. */
  readonly onRendered: (element: HTMLElement) => DOMRect | undefined;
}

/** Pixels to render beyond each edge. */
const OVERSCAN = 400;
const SLACK = 0.5;

export function Scroller<T extends { readonly seq: number }>({
  rows,
  selected,
  follow,
  onScrolledAway,
  whole,
  estimate,
  row,
  rowProps,
  onShowing,
  control,
  onRendered,
}: ScrollerProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const size = useRef<HTMLDivElement>(null);
  const visible = useRef<HTMLDivElement>(null);
  const [, render] = useReducer((count: number) => count + 1, 0);
  const measured = useRef(new Map<number, number>()).current;
  const state = useRef({
    rows: undefined as readonly T[] | undefined,
    heights: new Heights(),
    top: 0,
    height: 0,
    /** The selected row if it is visible, else the first one: it stays in place when rows change their height. */
    anchor: { seq: 0, offset: 0 },
    /** seq of the row to scroll to once the rows around it are measured. */
    goal: undefined as number | undefined,
    selected: 0,
  }).current;

  if (state.rows !== rows) {
    state.rows = rows;
    state.heights = new Heights();
  }
  const { heights } = state;
  for (let index = heights.count; index < rows.length; index++) {
    const each = rows[index];
    if (each !== undefined) heights.push(measured.get(each.seq) ?? estimate(each));
  }
  const chosen = rows[selected]?.seq ?? 0;
  if (state.selected !== chosen) {
    state.selected = chosen;
    state.goal = chosen;
    // Rendered at once, not first the previous place.
    if (!follow && state.height > 0) state.top = topToShow(heights, selected, state.top, state.height);
  }
  if (follow) state.top = Math.max(0, heights.total - state.height);
  const first = whole ? 0 : heights.at(state.top - OVERSCAN);
  const last = whole ? rows.length : Math.min(rows.length, heights.at(state.top + state.height + OVERSCAN) + 1);

  const scrollTo = (top: number): void => {
    const element = scroller.current;
    if (element === null) return;
    const to = Math.max(0, Math.min(top, heights.total - state.height));
    if (size.current !== null) size.current.style.height = `${heights.total}px`;
    element.scrollTop = to;
    state.top = to;
    keepAnchor();
  };
  const keepAnchor = (): void => {
    const at = heights.top(selected);
    const isSelectedVisible = selected >= 0 && at >= state.top && at < state.top + state.height;
    const index = isSelectedVisible ? selected : heights.at(state.top);
    state.anchor = { seq: rows[index]?.seq ?? 0, offset: state.top - heights.top(index) };
  };

  useLayoutEffect(() => {
    const [element, inner] = [scroller.current, visible.current];
    if (element === null || inner === null || whole) return;
    state.height = element.clientHeight;
    let changed = false;
    for (const [index, child] of [...inner.children].entries()) {
      const height = child.getBoundingClientRect().height;
      const seq = rows[first + index]?.seq;
      if (seq === undefined || Math.abs(height - heights.of(first + index)) <= SLACK) continue;
      heights.set(first + index, height);
      measured.set(seq, height);
      changed = true;
    }
    control.scroller = (index) => {
      if (follow) onScrolledAway();
      state.goal = undefined;
      scrollTo(heights.top(index) - state.height / 2);
      render(undefined);
    };
    const before = state.top;
    if (follow) scrollTo(heights.total);
    else if (state.goal !== undefined) {
      scrollTo(topToShow(heights, selected, state.top, state.height));
    } else {
      const anchor = placeOf(rows, state.anchor.seq);
      scrollTo(rows[anchor]?.seq === state.anchor.seq ? heights.top(anchor) + state.anchor.offset : state.top);
    }
    if (changed || Math.abs(state.top - before) > SLACK) {
      render(undefined);
      return;
    }
    state.goal = undefined;
    onShowing(heights.at(state.top), heights.at(state.top + state.height - 1));
    const place = onRendered(element);
    if (place === undefined) return;
    const box = element.getBoundingClientRect();
    if (place.top < box.top + 40) scrollTo(state.top + place.top - box.top - 80);
    else if (place.bottom > box.bottom) scrollTo(state.top + place.bottom - box.bottom + 80);
    if (Math.abs(state.top - before) > SLACK) render(undefined);
  });

  useEffect(() => {
    const [element, inner] = [scroller.current, visible.current];
    if (element === null || inner === null) return;
    const observer = new ResizeObserver(() => render(undefined));
    observer.observe(element);
    observer.observe(inner);
    element.focus({ preventScroll: true });
    return () => {
      observer.disconnect();
      control.scroller = undefined;
    };
  }, []);
  useEffect(() => {
    if (rows.length > 0) reportFirstRows();
  }, [rows.length === 0]);

  const onScroll = (): void => {
    const top = scroller.current?.scrollTop ?? 0;
    if (Math.abs(top - state.top) < 1) return; // its own
    if (follow && top < state.top) onScrolledAway();
    state.top = top;
    state.goal = undefined;
    keepAnchor();
    render(undefined);
  };
  /** Arrows and pages scroll the text; the page would move the cursor. */
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.target === scroller.current && SCROLL_KEYS.has(event.key) && !event.altKey) event.stopPropagation();
  };
  return (
    <div
      class="transcript-scroll"
      ref={scroller}
      role="feed"
      aria-label="Transcript"
      tabIndex={0}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <div ref={size} role="presentation" style={whole ? {} : { height: `${heights.total}px` }}>
        <div
          ref={visible}
          role="presentation"
          class="transcript-rows"
          style={whole ? {} : { transform: `translateY(${heights.top(first)}px)` }}
        >
          {rows.slice(first, last).map((each, index) => (
            <article
              key={each.seq}
              aria-posinset={first + index + 1}
              aria-setsize={rows.length}
              {...rowProps(each, first + index)}
            >
              {row(each, first + index)}
            </article>
          ))}
        </div>
      </div>
    </div>
  );
}

const SCROLL_KEYS = new Set(['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', ' ']);

/** Returns the scroll position nearest to `top` that shows a row; of a tall row, its beginning. */
export function topToShow(heights: Heights, index: number, top: number, height: number): number {
  if (index <= 0) return 0;
  const [from, own] = [heights.top(index), heights.of(index)];
  if (from < top) return from;
  return from + own > top + height ? Math.min(from, from + own - height) : top;
}

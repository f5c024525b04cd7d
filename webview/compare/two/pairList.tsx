/**
 * The steps of two attempts side by side, in a scroller that also holds other content. Rows have any height, so they
 * are measured as they appear; only those near the visible part are rendered.
 */
import { useEffect, useId, useLayoutEffect, useReducer, useRef } from 'preact/hooks';
import type { SideItem, SideRow } from '../../../src/trace/align/twoSides.ts';
import { Heights } from '../../components/heights.ts';
import { type Side, SideStep } from './sideStep.tsx';
import { FoldedSteps } from './twoParts.tsx';

/** Pixels to render beyond each edge. */
const OVERSCAN = 400;
/** Expected height of a row, and of one that differs. */
const ROW = 22;
const DIFFERENT = 80;
const SLACK = 0.5;
/** Height of the headings, which stay in view above the rows. */
const HEADS = 34;

interface PairListProps {
  readonly rows: readonly SideRow[];
  readonly items: readonly SideItem[];
  /** An index into `items`. */
  readonly selected: number;
  readonly side: Side;
  readonly onSelect: (item: SideItem, side: Side | undefined) => void;
  readonly onOpen: (item: SideItem, side: Side | undefined) => void;
}

export function PairList({ rows, items, selected, side, onSelect, onOpen }: PairListProps) {
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const [, render] = useReducer((count: number) => count + 1, 0);
  const state = useRef({
    rows,
    items: [] as readonly SideItem[],
    heights: new Heights(),
    measured: new Map<string, number>(),
    /** The visible part, from the top of the list. */
    top: 0,
    height: window.innerHeight,
    /** The selected item, until it is in view. */
    goal: undefined as number | undefined,
    selected: -1,
  }).current;
  if (state.rows !== rows) state.measured.clear();
  if (state.rows !== rows || state.items !== items) {
    state.heights = new Heights();
    for (const item of items)
      state.heights.push(state.measured.get(keyOf(item)) ?? (rows[item.row]?.state === 'same' ? ROW : DIFFERENT));
  }
  if (state.rows !== rows || state.selected !== selected) state.goal = selected;
  Object.assign(state, { rows, items, selected });
  const { heights } = state;
  const first = heights.at(state.top - OVERSCAN);
  const last = Math.min(items.length, heights.at(state.top + state.height + OVERSCAN) + 1);

  useLayoutEffect(() => {
    const element = list.current;
    const scroller = element?.parentElement;
    if (element === null || scroller === null || scroller === undefined) return;
    const shown = [...element.querySelectorAll<HTMLElement>(':scope > [role=option]')];
    let changed = false;
    for (const [index, child] of shown.entries()) {
      const height = child.getBoundingClientRect().height;
      const item = items[first + index];
      if (item === undefined || Math.abs(height - heights.of(first + index)) <= SLACK) continue;
      heights.set(first + index, height);
      state.measured.set(keyOf(item), height);
      changed = true;
    }
    if (state.goal !== undefined) {
      const target = shown[state.goal - first];
      if (target === undefined)
        scroller.scrollTop = element.offsetTop + heights.top(state.goal) - Math.max(HEADS, scroller.clientHeight / 3);
      else {
        target.scrollIntoView({ block: 'nearest' });
        if (!changed) state.goal = undefined;
      }
    }
    if (follow(scroller, element) || changed) render(undefined);
  });
  /** Returns whether the visible part is another one. */
  const follow = (scroller: HTMLElement, element: HTMLElement): boolean => {
    const top = scroller.scrollTop - element.offsetTop;
    const height = scroller.clientHeight;
    const isNew = Math.abs(top - state.top) >= 1 || Math.abs(height - state.height) >= 1;
    if (isNew) Object.assign(state, { top, height });
    return isNew;
  };
  useEffect(() => {
    const element = list.current;
    const scroller = element?.parentElement;
    if (element === null || scroller === null || scroller === undefined) return;
    const onScroll = (): void => {
      if (follow(scroller, element)) render(undefined);
    };
    const observer = new ResizeObserver(() => render(undefined));
    observer.observe(scroller);
    scroller.addEventListener('scroll', onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener('scroll', onScroll);
    };
  }, []);

  return (
    <div
      class="two-steps"
      role="listbox"
      aria-label="Steps of both attempts"
      {...(selected >= first && selected < last ? { 'aria-activedescendant': `${id}-${selected}` } : {})}
      tabIndex={0}
      ref={list}
    >
      <div role="presentation" style={{ height: `${heights.top(first)}px` }} />
      {items.slice(first, last).map((item, offset) => {
        const index = first + offset;
        const row = rows[item.row];
        const isSelected = index === selected;
        return (
          <div
            key={keyOf(item)}
            id={`${id}-${index}`}
            role="option"
            aria-selected={isSelected}
            aria-posinset={index + 1}
            aria-setsize={items.length}
            class={`two-row ${item.until === undefined ? 'two-grid' : 'two-fold'}${isSelected ? ' is-selected' : ''}`}
            onClick={(event) => onSelect(item, sideOf(event))}
            onDblClick={(event) => onOpen(item, sideOf(event))}
          >
            {item.until !== undefined ? (
              <FoldedSteps rows={rows.slice(item.row, item.until)} />
            ) : row === undefined ? null : (
              <SideStep row={row} focused={isSelected ? side : undefined} />
            )}
          </div>
        );
      })}
      <div role="presentation" style={{ height: `${heights.total - heights.top(last)}px` }} />
    </div>
  );
}

function keyOf({ row, until }: SideItem): string {
  return `${row}-${until ?? ''}`;
}

function sideOf(event: Event): Side | undefined {
  const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-side]') : null;
  return cell === null ? undefined : cell.dataset['side'] === 'right' ? 'right' : 'left';
}

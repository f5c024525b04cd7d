/** The groups of a batch: a row for each task, with a bar for each attempt. */
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { plural } from '../../../src/common/text.ts';
import { noSignalText } from '../../../src/trace/groups/text.ts';
import { Icon } from '../../components/marks/icon.tsx';
import { EmptyState } from '../../components/notices/emptyState.tsx';
import { VirtualList } from '../../components/virtualList.tsx';
import { useChanges } from '../../data/observe.ts';
import type { BatchActions } from '../batchActions.ts';
import type { BatchView, CellAt } from '../batchView.ts';
import type { GridRow } from '../model/arrange.ts';
import { GroupBars } from './groupBars.tsx';
import './groups.css';
import { figureText, groupName, memberText, stateText } from './groupTexts.ts';

interface GroupListProps {
  readonly view: BatchView;
  readonly page: number;
  readonly stale: boolean;
  readonly actions: BatchActions;
}

const ROW = 32;
/** Widths of a member: those of a small group need not fill the row. */
const MAX_CELL = 38;
const MIN_CELL = 1.5;

export function GroupList({ view, page, stale, actions }: GroupListProps) {
  useChanges(view.pointed);
  const { groups, cursor, tasks } = view;
  const body = useRef<HTMLDivElement>(null);
  const width = useWidth(body);
  const rows = view.rows.filter((row) => row.kind === 'group' || groups.shows(row.index));
  const layout = layoutOf(width, page, view.width);
  const scale = scaleOf(view, rows);
  const at = rows.findIndex((row) =>
    row.kind === 'group'
      ? cursor?.on === 'group' && cursor.key === row.key
      : cursor?.on === 'cell' && cursor.index === row.index,
  );
  const attempt = cursor?.on === 'cell' ? cursor.attempt : 1;
  const select = (position: number, to = attempt): void => {
    const row = rows[position];
    if (row === undefined) return;
    view.keyed();
    view.moveTo(row.kind === 'group' ? { on: 'group', key: row.key } : { on: 'cell', index: row.index, attempt: to });
  };
  const open = (position: number, beside: boolean): void => {
    const row = rows[position];
    if (row?.kind === 'group') view.fold(row.key);
    else if (row !== undefined) actions.open({ index: row.index, attempt }, beside);
  };
  const key = (event: KeyboardEvent): void => {
    const row = rows[at];
    const moves: Readonly<Record<string, number>> = { ArrowLeft: attempt - 1, ArrowRight: attempt + 1 };
    const to = moves[event.key];
    if (to !== undefined && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      if (row?.kind === 'group') view.fold(row.key, event.key === 'ArrowLeft');
      else select(Math.max(0, at), Math.max(1, Math.min(view.width, to)));
    } else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      open(at, true);
    }
  };
  const none = useNothing(view, rows.length === 0);
  return (
    <div class="batch-groups" ref={body} data-stale={stale} style={{ '--group-columns': layout.columns }}>
      {none ?? (
        // The list has the focus; the keys of its rows' members come from here.
        <div class="batch-groups-list" role="presentation" onKeyDown={key}>
          <div class="group-row group-head" aria-hidden="true">
            <span>task</span>
            <span class="group-number">mean</span>
            {layout.hasSpread && <span class="group-number">spread</span>}
            <span>{plural(view.width, 'attempt')}</span>
            {layout.hasState && <span>state</span>}
          </div>
          <VirtualList
            count={rows.length}
            rowHeight={ROW}
            label={`Groups of ${plural(tasks, 'task')}`}
            role="listbox"
            selected={at}
            keyOf={(position) => keyOf(rows[position])}
            onSelect={(position) => select(position)}
            onOpen={(position) => open(position, false)}
            row={(position) =>
              rowOf(view, rows[position], { layout, scale, at: position === at ? attempt : undefined })
            }
          />
          {page > 640 && <Legend />}
        </div>
      )}
    </div>
  );
}

interface Layout {
  /** Value of `grid-template-columns`. */
  readonly columns: string;
  readonly cell: number;
  readonly hasSpread: boolean;
  readonly hasState: boolean;
}

function layoutOf(width: number, page: number, attempts: number): Layout {
  const hasSpread = page >= 440;
  const hasState = page > 640;
  const name = hasState ? Math.max(120, Math.min(220, width * 0.22)) : page < 440 ? 112 : 142;
  const numbers = hasSpread ? 2 * 56 : 48;
  const state = hasState ? Math.max(130, Math.min(320, width * 0.3)) : 20;
  const room = width - name - numbers - state - 44;
  const cell = Math.max(MIN_CELL, Math.min(MAX_CELL, room / Math.max(1, attempts)));
  const bars = Math.ceil(cell * attempts);
  return {
    columns: `${name}px ${hasSpread ? '56px 56px' : '48px'} minmax(0, ${bars}px) minmax(${hasState ? 120 : 16}px, 1fr)`,
    cell: cell > 6 ? Math.floor(cell) : cell,
    hasSpread,
    hasState,
  };
}

/** Share of the groups whose bars fit their height. A single success of many would make all other bars flat. */
const FITTING = 0.75;

/** Bars of all groups have one scale, so that they can be compared. */
function scaleOf({ groups }: BatchView, rows: readonly GridRow[]): number {
  const largest: number[] = [];
  for (const row of rows) {
    const own = row.kind === 'task' ? groups.of(row.index).largest : 0;
    if (own > 0) largest.push(own);
  }
  const ascending = Float64Array.from(largest).sort();
  return ascending[Math.ceil(FITTING * ascending.length) - 1] ?? 1;
}

interface RowLook {
  readonly layout: Layout;
  readonly scale: number;
  readonly at: number | undefined;
}

function rowOf(view: BatchView, row: GridRow | undefined, { layout, scale, at }: RowLook): VNode | null {
  if (row === undefined) return null;
  if (row.kind === 'group')
    return (
      <div class="group-of-tasks">
        <Icon name={row.open ? 'chevron-down' : 'chevron-right'} label={row.open ? 'expanded' : 'collapsed'} />
        <b>{row.name}</b>
        <span class="batch-dim">{plural(row.tasks, 'task')}</span>
      </div>
    );
  const name = view.taskName(row.index);
  const group = view.groups.of(row.index);
  const state = stateText(group);
  const noSignal = noSignalText(group);
  const memberAt = (event: MouseEvent): CellAt => {
    const { left } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const attempt = Math.floor((event.clientX - left) / layout.cell) + 1;
    return { index: row.index, attempt: Math.max(1, Math.min(view.width, attempt)) };
  };
  // Assistive technology gets one sentence instead of the columns.
  return (
    <div class="group-row">
      <span class="only-read">{groupName(name, group, at)}</span>
      <span class="group-task" title={name} aria-hidden="true">
        {name}
      </span>
      <span class="group-number" aria-hidden="true">
        {figureText(group.mean)}
      </span>
      {layout.hasSpread && (
        <span class="group-number" aria-hidden="true">
          {figureText(group.spread)}
        </span>
      )}
      <span
        class="group-members"
        aria-hidden="true"
        onPointerMove={(event) => {
          const { attempt } = memberAt(event);
          event.currentTarget.title = `Attempt ${attempt}: ${memberText(group, attempt)}`;
        }}
        onClick={(event) => {
          event.stopPropagation();
          view.moveTo({ on: 'cell', ...memberAt(event) });
          focusList(event.currentTarget);
        }}
      >
        <GroupBars group={group} scale={scale} cell={layout.cell} attempt={at} />
      </span>
      <span class={`group-state${noSignal === undefined ? '' : ' is-none'}`} title={state} aria-hidden="true">
        {noSignal !== undefined && <Icon name="warning" />}
        {layout.hasState && <span>{state}</span>}
      </span>
    </div>
  );
}

function focusList(inside: Element): void {
  inside.closest<HTMLElement>('.virtual-list')?.focus();
}

function keyOf(row: GridRow | undefined): string {
  return row === undefined ? '' : row.kind === 'group' ? `group ${row.key}` : `task ${row.index}`;
}

/** Returns the placeholder; undefined if there are groups to show. */
function useNothing(view: BatchView, isEmpty: boolean): VNode | undefined {
  const { figures, groups } = view;
  if (figures === undefined) return undefined;
  const { scored, open, groups: counts } = figures.report;
  if (scored === 0 && open > 0)
    return <EmptyState icon="beaker" title="No rewards yet" text="Groups appear once attempts are scored." />;
  if (scored === 0)
    return (
      <EmptyState
        icon="warning"
        title="No attempt counts"
        text="All attempts are lost, cancelled, changed by a person, or without a reward."
      />
    );
  if (!isEmpty) return undefined;
  return (
    <EmptyState
      icon="filter"
      title="No group matches"
      text={
        groups.only === 'without' && counts.none + counts.excluded === 0
          ? 'Every group has a signal.'
          : 'Press the chip again to see all groups.'
      }
    />
  );
}

function Legend() {
  return (
    <p class="group-legend" aria-hidden="true">
      <i class="group-legend-up" /> above the mean
      <i class="group-legend-down" /> below
      <span>× excluded</span>
      <span>• no advantage</span>
    </p>
  );
}

function useWidth(element: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** The grid of a batch: a row for each task, a column for each attempt. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { HoverCard } from '../../components/overlays/hoverCard.tsx';
import { useChanges } from '../../data/observe.ts';
import { AttemptCard } from '../attempt/attemptCard.tsx';
import type { BatchActions } from '../batchActions.ts';
import type { BatchView, CellAt } from '../batchView.ts';
import { attemptsSeen, HEAD, hit, ROW, rowsSeen, type Span, scrollTo } from '../model/geometry.ts';
import { cursorAt, move, rowOf } from '../model/move.ts';
import './grid.css';
import { GridHead } from './gridHead.tsx';
import { gridKey } from './gridKeys.ts';
import { cursorId, GridModel } from './gridModel.tsx';
import { type GridScene, useGridScene } from './useGridScene.ts';

interface GridProps {
  readonly view: BatchView;
  /** Width of the page. */
  readonly page: number;
  /** Whether a card next to the pointer describes the attempt under it. */
  readonly card: boolean;
  /** Whether the data may be out of date. */
  readonly stale: boolean;
  readonly actions: BatchActions;
}

const CARD_AFTER_MS = 300;

export function Grid({ view, page, card, stale, actions }: GridProps) {
  const { open: onOpen } = actions;
  useChanges(view.pointed);
  const [focused, setFocused] = useState(false);
  const scene = useGridScene(view, page, focused);
  const { layout, scroller, canvas, rest } = scene;
  const column = useRef(1);
  const hovering = useCard(view, scene, card);
  if (view.cursor?.on === 'cell') column.current = view.cursor.attempt;
  useCursorInView(view, scene);

  const spotOf = (event: MouseEvent) => {
    const box = scroller.current?.getBoundingClientRect();
    if (box === undefined || layout.width === 0) return { part: 'nothing' } as const;
    return hit(layout, view.rows.length, event.clientX - box.left, event.clientY - box.top - HEAD, scene.scroll());
  };
  const cellOf = (event: MouseEvent): CellAt | undefined => {
    const spot = spotOf(event);
    if (spot.part !== 'cell') return undefined;
    const row = view.rows[spot.row];
    return row?.kind === 'task' ? { index: row.index, attempt: spot.attempt } : undefined;
  };
  const click = (event: MouseEvent): void => {
    const spot = spotOf(event);
    if (spot.part === 'nothing') return;
    const row = view.rows[spot.row];
    if (row?.kind === 'group') view.fold(row.key);
    view.moveTo(cursorAt(view.rows, spot.row, spot.part === 'cell' ? spot.attempt : column.current));
    const cell = cellOf(event);
    if (cell !== undefined && (event.altKey || event.ctrlKey || event.metaKey)) onOpen(cell, true);
  };
  const key = (event: KeyboardEvent): void => {
    const does = gridKey(event);
    if (does === undefined) return;
    const { cursor, hover } = view;
    view.keyed();
    hovering.close();
    if (does.does === 'close') {
      view.keep(undefined);
      return;
    }
    event.preventDefault();
    if (does.does === 'move') {
      if (cursor?.on === 'group' && (does.step === 'left' || does.step === 'right'))
        view.fold(cursor.key, does.step === 'left');
      else
        view.moveTo(
          move(view.rows, cursor, does.step, {
            attempts: layout.attempts,
            page: Math.max(1, Math.floor(layout.height / ROW) - 1),
            column: column.current,
          }),
        );
      return;
    }
    // The attempt that the card or the pane shows.
    const cell = hover ?? (cursor?.on === 'cell' ? cursor : undefined);
    if (cell === undefined) {
      if (cursor?.on === 'group') view.fold(cursor.key);
    } else if (does.does === 'open') onOpen(cell, does.beside);
    else view.keep(cell);
  };
  const height = HEAD + view.rows.length * ROW;
  return (
    <div class="batch-grid" data-stale={stale}>
      <div
        ref={scroller}
        class="batch-grid-scroller"
        role="grid"
        aria-label="Attempts"
        tabIndex={0}
        aria-rowcount={view.rows.length + 1}
        aria-colcount={layout.attempts + 2 + layout.columns.length}
        {...menuOf(view)}
        aria-activedescendant={rowOf(view.rows, view.cursor) < 0 ? undefined : cursorId(view.cursor)}
        onPointerEnter={() => view.pointer(true)}
        onPointerLeave={() => {
          view.pointer(false);
          view.pointAt(undefined);
        }}
        onPointerMove={(event) => view.pointAt(cellOf(event))}
        onClick={click}
        onDblClick={(event) => {
          const cell = cellOf(event);
          if (cell !== undefined) onOpen(cell, event.altKey || event.ctrlKey || event.metaKey);
        }}
        onKeyDown={key}
        onFocus={() => {
          setFocused(true);
          if (rowOf(view.rows, view.cursor) < 0)
            view.moveTo(
              cursorAt(
                view.rows,
                view.rows.findIndex((row) => row.kind === 'task'),
                1,
              ),
            );
        }}
        onBlur={() => setFocused(false)}
      >
        <div
          class="batch-grid-size"
          role="presentation"
          style={{ width: `${Math.max(layout.width, layout.whole)}px`, height: `${height}px` }}
        >
          <div
            class="batch-grid-stage"
            role="presentation"
            style={{ width: `${layout.width}px`, height: `${layout.height + HEAD}px` }}
          >
            <GridHead view={view} layout={layout} left={scene.scroll().left} />
            <canvas ref={canvas} aria-hidden="true" />
          </div>
          {rest !== undefined && (
            <GridModel
              view={view}
              layout={layout}
              rows={firstOf(rowsSeen(layout, view.rows.length, rest.top), rest.rows)}
              attempts={attemptsSeen(layout, rest.left)}
            />
          )}
        </div>
      </div>
      {hovering.shown !== undefined && (
        <HoverCard anchor={hovering.shown.anchor}>
          <AttemptCard view={view} cell={hovering.shown.cell} actions={actions} />
        </HoverCard>
      )}
    </div>
  );
}

function firstOf({ from, to }: Span, rows: number): Span {
  return { from, to: Math.min(to, from + rows) };
}

/** Returns the context of VS Code's menu for the attempt, which its commands get. */
function menuOf(view: BatchView): { readonly 'data-vscode-context'?: string } {
  const cell = view.shown;
  if (cell === undefined) return {};
  const rollout = view.row(cell.index, cell.attempt)?.rollout;
  return {
    'data-vscode-context': JSON.stringify({
      webviewSection: 'rolloutAttempt',
      batch: view.data.batch,
      task: view.taskName(cell.index),
      attempt: cell.attempt,
      ...(rollout === undefined ? {} : { rollout }),
      isTrimmed: view.data.row?.trimmed !== undefined,
      preventDefaultContextMenuItems: true,
    }),
  };
}

interface Card {
  readonly cell: CellAt;
  readonly anchor: DOMRect;
}

/** Shows a card for the attempt under the pointer, once it rests there. */
function useCard(
  view: BatchView,
  { scroller, layout, scroll }: GridScene,
  enabled: boolean,
): { readonly shown: Card | undefined; close(): void } {
  const [shown, setShown] = useState<Card>();
  const cell = enabled ? view.hover : undefined;
  useEffect(() => {
    setShown(undefined);
    if (cell === undefined) return undefined;
    const timer = setTimeout(() => {
      const row = view.rows.findIndex((each) => each.kind === 'task' && each.index === cell.index);
      const box = scroller.current?.getBoundingClientRect();
      if (row < 0 || box === undefined) return;
      const { left, top } = scroll();
      // Right of the cells, so that it hides neither names nor cells.
      const end = Math.min(layout.width, layout.cells + layout.attempts * layout.cell - left);
      setShown({ cell, anchor: new DOMRect(box.left, box.top + HEAD + row * ROW - top, end, ROW) });
    }, CARD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [cell?.index, cell?.attempt, layout]);
  return { shown, close: () => setShown(undefined) };
}

/** Scrolls to the cursor after it moved. */
function useCursorInView(view: BatchView, { scroller, layout, scroll, settle }: GridScene): void {
  const { cursor } = view;
  useEffect(() => {
    const at = scroller.current;
    const row = rowOf(view.rows, cursor);
    if (at === null || row < 0 || layout.height === 0) return;
    const { left, top } = scrollTo(layout, row, cursor?.on === 'cell' ? cursor.attempt : undefined, scroll());
    if (left !== at.scrollLeft || top !== at.scrollTop) at.scrollTo({ left, top });
    settle();
  }, [cursor]);
}

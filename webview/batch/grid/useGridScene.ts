/** The state of the grid's drawing: size, scroll position, colors, and scheduling. */
import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { reportFirstRows } from '../../components/afterFirstRows.ts';
import type { BatchView } from '../batchView.ts';
import { HEAD, type Layout, LETTER, layoutOf, ROW } from '../model/geometry.ts';
import { coloursOf, type GridColours, onTheme } from './colours.ts';
import { fitCanvas, Painter } from './paint.ts';

/** A place where the grid rests, and how many of the rows seen there are in its model yet. */
interface Rest {
  readonly left: number;
  readonly top: number;
  readonly rows: number;
}

export interface GridScene {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  readonly layout: Layout;
  /** What the model is made for; undefined before the first. */
  readonly rest: Rest | undefined;
  readonly scroll: () => { readonly left: number; readonly top: number };
  /** Draws with the next frame. */
  readonly draw: () => void;
  /** Updates the model for the current scroll position. */
  readonly settle: () => void;
}

/** The model is updated once scrolling rests, and at most this often while rows change. */
const REST_MS = 90;
const MODEL_MS = 250;
/** Cells added to the model per frame: thousands would take longer than a frame. */
const CELLS_AT_ONCE = 320;

export function useGridScene(view: BatchView, page: number, focused: boolean): GridScene {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(scroller);
  const [rest, setRest] = useState<Rest>();
  const layout = useMemo(
    () =>
      layoutOf({
        width: size.width,
        height: Math.max(0, size.height - HEAD),
        attempts: view.width,
        page,
        longest: view.longest * LETTER,
        choice: view.columns,
        absent: view.absentColumns,
      }),
    [size.width, size.height, view.width, page, view.longest, view.columns, [...view.absentColumns].join(' ')],
  );
  const painter = useMemo(() => new Painter(), []);
  const colours = useRef<GridColours | undefined>(undefined);
  const frame = useRef(0);
  const paint = useRef<() => void>(() => undefined);
  paint.current = () => {
    const target = canvas.current;
    const ctx = target?.getContext('2d');
    const at = scroller.current;
    if (target === null || ctx === null || ctx === undefined || at === null || layout.width === 0) return;
    const ratio = window.devicePixelRatio;
    fitCanvas(target, layout, ratio);
    colours.current ??= coloursOf(at);
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    painter.paint(ctx, {
      view,
      layout,
      colours: colours.current,
      scroll: { left: at.scrollLeft, top: at.scrollTop },
      focused,
    });
    if (view.rows.length > 0 && (view.data.version > 0 || view.data.loading !== 'loading')) reportFirstRows();
  };
  const draw = useCallback(() => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      paint.current();
    });
  }, []);
  const scroll = useCallback(
    () => ({ left: scroller.current?.scrollLeft ?? 0, top: scroller.current?.scrollTop ?? 0 }),
    [],
  );
  const atOnce = Math.max(1, Math.floor(CELLS_AT_ONCE / Math.max(1, layout.attempts)));
  const settle = useCallback(
    () =>
      setRest((before) => {
        const now = scroll();
        // Near the previous position, most rows of the model are reused.
        const near = before !== undefined && Math.abs(before.top - now.top) < (scroller.current?.clientHeight ?? 0) / 2;
        return { ...now, rows: near ? before.rows : 0 };
      }),
    [scroll],
  );
  useEffect(() => {
    if (rest === undefined || rest.rows * ROW > layout.height + ROW) return undefined;
    const timer = setTimeout(() => setRest({ ...rest, rows: rest.rows + atOnce }));
    return () => clearTimeout(timer);
  }, [rest, layout.height, atOnce]);
  useScrolling(scroller, draw, settle);
  useTheme(colours, draw);
  useViewChanges(view, draw, settle);
  useLayoutEffect(draw, [layout, focused, draw]);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return { scroller, canvas, layout, rest, scroll, draw, settle };
}

function useSize(element: RefObject<HTMLElement | null>): { readonly width: number; readonly height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const of = element.current;
    if (of === null) return undefined;
    const measure = (): void =>
      setSize((before) =>
        before.width === of.clientWidth && before.height === of.clientHeight
          ? before
          : { width: of.clientWidth, height: of.clientHeight },
      );
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(of);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

function useScrolling(scroller: RefObject<HTMLElement | null>, draw: () => void, settle: () => void): void {
  useEffect(() => {
    const of = scroller.current;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = of?.scrollLeft ?? 0;
    const scrolled = (): void => {
      draw();
      clearTimeout(timer);
      if (of !== null && of.scrollLeft !== left) {
        left = of.scrollLeft;
        settle(); // update the numbers in the head
        return;
      }
      timer = setTimeout(settle, REST_MS);
    };
    of?.addEventListener('scroll', scrolled, { passive: true });
    return () => {
      of?.removeEventListener('scroll', scrolled);
      clearTimeout(timer);
    };
  }, [scroller, draw, settle]);
}

function useTheme(colours: { current: GridColours | undefined }, draw: () => void): void {
  useEffect(
    () =>
      onTheme(() => {
        colours.current = undefined;
        draw();
      }),
    [colours, draw],
  );
}

function useViewChanges(view: BatchView, draw: () => void, settle: () => void): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const follow = (wait: number): void => {
      timer ??= setTimeout(() => {
        timer = undefined;
        settle();
      }, wait);
    };
    follow(0); // draw the first frame without waiting for the model
    const changed = view.changed(() => {
      draw();
      follow(MODEL_MS);
    });
    const pointed = view.pointed(draw);
    return () => {
      changed.dispose();
      pointed.dispose();
      clearTimeout(timer);
    };
  }, [view, draw, settle]);
}

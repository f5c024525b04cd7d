/** The time axis: model calls, tool calls, and world changes over time. It shares the page's cursor. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { duration } from '../../../src/common/units.ts';
import { troubleOf } from '../../../src/trace/trouble.ts';
import { ActionLink } from '../../components/link.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { ForkLane } from '../forks.tsx';
import { referenceOf } from '../reference.ts';
import type { TrajectorySession } from '../session.ts';
import { useNow } from '../useNow.ts';
import type { Lanes } from './lanes.ts';
import { labelOf } from './paint/bars.ts';
import { waitText } from './paint/calls.ts';
import { itemAt, markAt } from './paint/hit.ts';
import { AxisPicture, type Picture } from './paint/picture.ts';
import { type AxisMark, heightOf, LANES_TOP, readColours, type Scene, SIZES } from './paint/scene.ts';
import { panned, type Range, valueAt, within, xOf, zoomed } from './scale.ts';
import { ScoreColumn } from './scoreColumn.tsx';
import './axis.css';

const ZOOM = 1.2;
/** Pixels a pointer moves before it is a drag. */
const DRAG = 4;
const TROUBLE_WORDS = { error: 'failed', interrupted: 'interrupted by an infrastructure failure' } as const;
/** Pixels for `held 12:30 min`. */
const HELD_ROOM = 96;
/** Lower pages show the axis as a bar until it is expanded. */
const LOW = '(max-height: 639px)';

export interface AxisControl {
  whole(): void;
  step(): void;
}

export function TimeAxis({
  session,
  control,
}: {
  readonly session: TrajectorySession;
  readonly control: { current: AxisControl | null };
}) {
  const element = useRef<HTMLCanvasElement>(null);
  const { lanes } = session.look;
  const [width, setWidth] = useState(0);
  const [chosen, setChosen] = useState<Range>();
  const low = useLowPage();
  const [expanded, setExpanded] = useState(false);
  const collapsed = low && !expanded;
  const [dragged, setDragged] = useState<Range>();
  lanes.advance();
  if (session.data.loading !== 'loading') lanes.advanceOutside(session.data.outside);
  const holding = lanes.model.holdsAt().length > 0;
  const now = useNow(holding);
  const gutter = width > 560 ? 108 : 28;
  // A hold is at the end, and its text needs some room.
  const room = holding ? HELD_ROOM / Math.max(HELD_ROOM, width - gutter - HELD_ROOM) : 0;
  const whole: Range = {
    from: lanes.model.timed ? 0 : 1,
    to: Math.max(lanes.model.timed ? 1 : 2, lanes.end * (1 + room)),
  };
  const range = chosen === undefined ? whole : within(chosen, whole);
  const height = heightOf(lanes.lanes);
  const selected = lanes.rangeOf(session.seq);

  useLayoutEffect(() => {
    const canvas = element.current;
    if (canvas === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(canvas);
    return () => observer.disconnect();
  }, []);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme((version) => version + 1));
    observer.observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-kind'] });
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
    // The lanes' icons need their font.
    void document.fonts.load('14px codicon').then(() => setTheme((version) => version + 1));
    return () => observer.disconnect();
  }, []);
  const colours = useMemo(
    () => (element.current === null ? undefined : readColours(element.current)),
    [theme, width > 0],
  );

  control.current = {
    whole: () => setChosen(undefined),
    step: () => {
      if (collapsed) {
        setExpanded(true);
        return;
      }
      if (selected === undefined) return;
      const margin = Math.max(1, (selected.to - selected.from) * 0.1);
      setChosen({ from: selected.from - margin, to: selected.to + margin });
    },
  };
  // Keep the selected step visible without changing the zoom.
  useEffect(() => {
    if (chosen === undefined || selected === undefined) return;
    if (selected.to < range.from || selected.from > range.to)
      setChosen(panned(range, (selected.from + selected.to - range.from - range.to) / 2, whole));
  }, [session.seq]);

  const scene: Scene | undefined =
    width === 0 || colours === undefined
      ? undefined
      : { lanes, marks: marksOf(session, lanes), range, whole, selected, width, gutter, colours, now };
  const painting = useRef<{ readonly picture: AxisPicture; next: Picture | undefined; frame: number }>(undefined);
  const drawing = (painting.current ??= { picture: new AxisPicture(), next: undefined, frame: 0 });
  // Draw in an animation frame, so that several changes are drawn once.
  useLayoutEffect(() => {
    drawing.next = scene === undefined ? undefined : { scene, dragged };
    if (drawing.next === undefined || drawing.frame !== 0) return;
    drawing.frame = requestAnimationFrame(() => {
      drawing.frame = 0;
      if (element.current !== null && drawing.next !== undefined) drawing.picture.paint(element.current, drawing.next);
    });
  });
  useEffect(() => () => cancelAnimationFrame(drawing.frame), [drawing]);

  const placeOf = (event: MouseEvent): { x: number; y: number; value: number } => {
    const box = element.current?.getBoundingClientRect();
    const x = event.clientX - (box?.left ?? 0);
    return { x, y: event.clientY - (box?.top ?? 0), value: valueAt(x - gutter, range, width - gutter) };
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const canvas = event.currentTarget as HTMLCanvasElement;
    canvas.setPointerCapture(event.pointerId);
    const start = placeOf(event);
    const inMinimap = start.y < SIZES.minimap;
    const wholeAt = (x: number): number => valueAt(x - gutter, whole, width - gutter);
    const span = range.to - range.from;
    // The pointer drags an edge of the frame, or all of it.
    const near = (value: number): boolean => Math.abs(start.x - gutter - xOf(value, whole, width - gutter)) < 6;
    const handle =
      !inMinimap || chosen === undefined ? undefined : near(range.from) ? 'from' : near(range.to) ? 'to' : undefined;
    const onMove = (moved: PointerEvent): void => {
      const { x, value } = placeOf(moved);
      if (handle === 'from') setChosen(within({ from: Math.min(wholeAt(x), range.to - 1), to: range.to }, whole));
      else if (handle === 'to')
        setChosen(within({ from: range.from, to: Math.max(wholeAt(x), range.from + 1) }, whole));
      else if (inMinimap && chosen !== undefined)
        setChosen(within({ from: wholeAt(x) - span / 2, to: wholeAt(x) + span / 2 }, whole));
      else if (Math.abs(x - start.x) > DRAG) setDragged({ from: start.value, to: value });
    };
    const onUp = (up: PointerEvent): void => {
      canvas.removeEventListener('pointermove', onMove);
      setDragged(undefined);
      const { x, value } = placeOf(up);
      if (inMinimap) return;
      if (Math.abs(x - start.x) > DRAG)
        setChosen(within({ from: Math.min(start.value, value), to: Math.max(start.value, value) }, whole));
      else select(start.x, start.y);
    };
    canvas.addEventListener('pointermove', onMove);
    canvas.addEventListener('pointerup', onUp, { once: true });
  };
  const select = (x: number, y: number): void => {
    const found = scene === undefined ? undefined : (markAt(scene, x, y) ?? itemAt(scene, x, y));
    const flag =
      y < LANES_TOP
        ? lanes.steps.findLast((step) => step.from <= valueAt(x - gutter, range, width - gutter))
        : undefined;
    const seq = found?.seq ?? flag?.seq;
    if (seq !== undefined) session.go(seq);
  };
  const onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    const by = event.deltaY === 0 ? event.deltaX : event.deltaY;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      setChosen(panned(range, ((range.to - range.from) * by) / 1000, whole));
    else {
      const next = zoomed(range, placeOf(event).value, by > 0 ? ZOOM : 1 / ZOOM, whole);
      setChosen(next.to - next.from >= whole.to - whole.from ? undefined : next);
    }
  };
  useEffect(() => {
    const canvas = element.current;
    canvas?.addEventListener('wheel', onWheel, { passive: false });
    return () => canvas?.removeEventListener('wheel', onWheel);
  });
  const onHover = (event: PointerEvent): void => {
    const { x, y } = placeOf(event);
    const canvas = event.currentTarget as HTMLCanvasElement;
    const title = scene === undefined ? '' : titleAt(scene, x, y);
    if (canvas.title !== title) canvas.title = title;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const moves: Readonly<Record<string, () => void>> = {
      ArrowRight: () => session.moves.row(1),
      ArrowLeft: () => session.moves.row(-1),
      Home: () => session.moves.end('first'),
      End: () => session.moves.end('last'),
    };
    const zooms: Readonly<Record<string, number>> = { '+': 1 / ZOOM, '-': ZOOM };
    const factor = zooms[event.key];
    const move = moves[event.key];
    if (move === undefined && factor === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    move?.();
    if (factor !== undefined) setChosen(zoomed(range, selected?.from ?? (range.from + range.to) / 2, factor, whole));
  };
  /** Returns the position of a visible event in pixels from the left. */
  const eventPlace = (seq: number): number | undefined => {
    const event = lanes.model.event(seq);
    const at = event === undefined ? undefined : lanes.at(event);
    return at === undefined || at < range.from || at > range.to ? undefined : gutter + xOf(at, range, width - gutter);
  };
  const step = session.data.model.stepOf(session.seq)?.index ?? 0;
  const trouble = troubleOf(lanes.model.span(session.seq));
  return (
    <section class={`axis${collapsed ? ' is-collapsed' : ''}`} aria-label="Time axis">
      <div class="axis-legend">
        <span class="axis-sample is-queued" /> queued{' '}
        {lanes.model.holds.length > 0 && (
          <>
            <span class="axis-sample is-held" /> held{' '}
          </>
        )}
        <span class="axis-sample is-prefill" /> prefill <span class="axis-sample is-generating" /> generating{' '}
        <span class="axis-sample is-tool" /> tool
        <span class="axis-sign">
          <Glyph outcome="failed" /> error
        </span>{' '}
        {lanes.interrupted && (
          <span class="axis-sign" title="An infrastructure failure, such as a lost worker, ended the call">
            <Glyph outcome="infrastructure" /> interrupted
          </span>
        )}{' '}
        <span class="axis-sign">
          <span class="axis-world">◆</span> world changed
        </span>
        {(lanes.interrupted || lanes.lanes.some((lane) => lane.kind === 'infra')) && (
          <span class="axis-sign">
            <span class="axis-sample is-infra" /> infrastructure
          </span>
        )}
        <span class="grow" />
        {chosen !== undefined && lanes.model.timed && <span>{duration(range.to - range.from)} shown</span>}
        <span class="axis-hint">
          drag to zoom, <kbd>0</kbd> whole rollout, <kbd>Z</kbd> this step
        </span>
        {low && <ActionLink label="collapse" title="Collapse the time axis" onClick={() => setExpanded(false)} />}
      </div>
      <div class="axis-row">
        <div
          class="axis-keys"
          role="slider"
          tabIndex={0}
          aria-label="Position in time"
          aria-valuemin={1}
          aria-valuemax={Math.max(1, session.data.model.last)}
          aria-valuenow={Math.max(1, session.seq)}
          aria-valuetext={
            `step ${step}, ${trouble === undefined ? '' : `${TROUBLE_WORDS[trouble]}, `}` + referenceOf(session)
          }
          onKeyDown={onKeyDown}
        >
          <canvas
            ref={element}
            class="axis-canvas"
            style={{ height: `${height}px` }}
            aria-hidden="true"
            onPointerDown={onPointerDown}
            onPointerMove={onHover}
            onDblClick={() => setChosen(undefined)}
          />
        </div>
        {collapsed && (
          <button
            type="button"
            class="axis-expand"
            title="Expand the time axis (Z)"
            aria-label="Expand the time axis"
            onClick={() => setExpanded(true)}
          />
        )}
        <ScoreColumn session={session} />
      </div>
      <ForkLane session={session} placeOf={eventPlace} gutter={gutter} width={width} />
    </section>
  );
}

/** Whether the page is so low that the steps need the room of the axis. */
function useLowPage(): boolean {
  const query = useMemo(() => window.matchMedia(LOW), []);
  const [low, setLow] = useState(query.matches);
  useEffect(() => {
    const onChange = (): void => setLow(query.matches);
    query.addEventListener('change', onChange);
    return () => query.removeEventListener('change', onChange);
  }, [query]);
  return low;
}

function marksOf({ data }: TrajectorySession, lanes: Lanes): AxisMark[] {
  return data.notes.of(data.rollout).flatMap(({ data: { label, seq, text, by } }) => {
    const event = seq === undefined ? undefined : data.model.event(seq);
    if (event === undefined || (label !== 'bookmark' && label !== 'note')) return [];
    return [
      {
        kind: label,
        seq: event.seq,
        at: lanes.at(event),
        text: label === 'bookmark' ? `Bookmark by ${by}` : `${text} (${by})`,
      },
    ];
  });
}

/** Returns the tooltip for the item under the pointer. */
function titleAt(scene: Scene, x: number, y: number): string {
  const mark = markAt(scene, x, y);
  if (mark !== undefined) return mark.text;
  const item = itemAt(scene, x, y);
  if (item === undefined) return '';
  const { lanes } = scene;
  const start = lanes.startOf(item);
  const time =
    item.span === undefined || !lanes.model.timed
      ? ''
      : start === undefined
        ? lanes.isOpen(item)
          ? ''
          : 'not started'
        : duration(lanes.endOf(item) - start);
  const trouble = troubleOf(item.span);
  const error = item.span?.end?.data.error?.message;
  const wrong = trouble === undefined ? '' : `${TROUBLE_WORDS[trouble]}${error === undefined ? '' : `: ${error}`}`;
  return [labelOf(scene, item), ...lanes.waitsOf(item).map(waitText), time, wrong, item.text]
    .filter((part) => part !== undefined && part !== '')
    .join(', ');
}

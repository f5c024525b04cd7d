/** The time axis: model calls, tool calls, and world changes over time. It shares the page's cursor. */
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { duration } from '../../../src/common/units.ts';
import { ActionLink } from '../../components/link.tsx';
import { Glyph } from '../../components/marks/glyph.tsx';
import { ForkLane } from '../forks.tsx';
import type { TrajectorySession } from '../session.ts';
import { AxisBar, DRAG } from './axisBar.tsx';
import { AxisSlider, ZOOM } from './axisSlider.tsx';
import { titleAt } from './axisTitle.ts';
import type { Lanes } from './lanes.ts';
import { itemAt, markAt } from './paint/hit.ts';
import { FULL } from './paint/paint.ts';
import { heightOf, LANES_TOP, type Scene, SIZES, valueIn, xIn } from './paint/scene.ts';
import type { Range } from './scale.ts';
import { ScoreColumn } from './scoreColumn.tsx';
import { useAxis } from './useAxis.ts';
import './axis.css';

/** Lower pages show the axis as a bar until it is expanded. */
const LOW = '(max-height: 639px)';

export interface AxisControl {
  whole(): void;
  step(): void;
}

interface TimeAxisProps {
  readonly session: TrajectorySession;
  readonly control: { current: AxisControl | null };
}

export function TimeAxis({ session, control }: TimeAxisProps) {
  const low = useLowPage();
  const [expanded, setExpanded] = useState(false);
  if (!session.reading && (!low || expanded))
    return <FullAxis session={session} control={control} {...(low ? { onCollapse: () => setExpanded(false) } : {})} />;
  const expand = session.reading ? {} : { onExpand: () => setExpanded(true) };
  control.current = { whole: () => undefined, step: () => expand.onExpand?.() };
  return <AxisBar session={session} {...expand} />;
}

function FullAxis({ session, control, onCollapse }: TimeAxisProps & { readonly onCollapse?: () => void }) {
  const { canvas: element, scene: all, paint } = useAxis(session, FULL, (width) => (width > 560 ? 108 : 28));
  const [chosen, setChosen] = useState<Range>();
  const [dragged, setDragged] = useState<Range>();
  const scene: Scene | undefined =
    all === undefined || chosen === undefined ? all : { ...all, range: all.scale.within(chosen, all.whole) };
  const { lanes } = session.look;
  const selected = lanes.rangeOf(session.seq);
  control.current = {
    whole: () => setChosen(undefined),
    step: () => {
      if (selected === undefined) return;
      const margin = Math.max(1, (selected.to - selected.from) * 0.1);
      setChosen({ from: selected.from - margin, to: selected.to + margin });
    },
  };
  // Keep the selected step visible without changing the zoom.
  useEffect(() => {
    if (chosen === undefined || selected === undefined || scene === undefined) return;
    const { range, scale, whole } = scene;
    if (selected.to < range.from || selected.from > range.to)
      setChosen(scale.centered(range, (selected.from + selected.to) / 2, whole));
  }, [session.seq]);
  useLayoutEffect(() => {
    if (scene !== undefined) paint({ scene, dragged });
  });

  const pointOf = (event: MouseEvent): { x: number; y: number } => {
    const box = element.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0 || scene === undefined) return;
    const canvas = event.currentTarget as HTMLCanvasElement;
    canvas.setPointerCapture(event.pointerId);
    const { range, whole, scale } = scene;
    const start = pointOf(event);
    const inMinimap = start.y < SIZES.minimap;
    const small: Scene = { ...scene, range: whole };
    // The pointer drags an edge of the frame, or all of it.
    const near = (value: number): boolean => Math.abs(start.x - xIn(small, value)) < 6;
    const handle =
      !inMinimap || chosen === undefined ? undefined : near(range.from) ? 'from' : near(range.to) ? 'to' : undefined;
    const between = (x: number): Range => {
      const [a, b] = [valueIn(scene, start.x), valueIn(scene, x)];
      return { from: Math.min(a, b), to: Math.max(a, b) };
    };
    const onMove = (moved: PointerEvent): void => {
      const { x } = pointOf(moved);
      const value = valueIn(small, x);
      if (handle === 'from') setChosen(scale.within({ from: Math.min(value, range.to - 1), to: range.to }, whole));
      else if (handle === 'to')
        setChosen(scale.within({ from: range.from, to: Math.max(value, range.from + 1) }, whole));
      else if (inMinimap && chosen !== undefined) setChosen(scale.centered(range, value, whole));
      else if (Math.abs(x - start.x) > DRAG) setDragged(between(x));
    };
    const onUp = (up: PointerEvent): void => {
      canvas.removeEventListener('pointermove', onMove);
      setDragged(undefined);
      const { x } = pointOf(up);
      if (inMinimap) return;
      if (Math.abs(x - start.x) > DRAG) setChosen(scale.within(between(x), whole));
      else select(scene, start.x, start.y);
    };
    canvas.addEventListener('pointermove', onMove);
    canvas.addEventListener('pointerup', onUp, { once: true });
  };
  const select = (scene: Scene, x: number, y: number): void => {
    const found = markAt(scene, x, y) ?? itemAt(scene, x, y);
    const at = valueIn(scene, x);
    const flag = y < LANES_TOP ? lanes.steps.findLast((step) => step.from <= at) : undefined;
    const seq = found?.seq ?? flag?.seq;
    if (seq !== undefined) session.go(seq);
  };
  const onWheel = (event: WheelEvent): void => {
    event.preventDefault();
    if (scene === undefined) return;
    const { range, scale, whole } = scene;
    const by = event.deltaY === 0 ? event.deltaX : event.deltaY;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      setChosen(scale.panned(range, by / 1000, whole));
    else zoom(scene, valueIn(scene, pointOf(event).x), by > 0 ? ZOOM : 1 / ZOOM);
  };
  const zoom = (scene: Scene, at: number, factor: number): void => {
    const next = scene.scale.zoomed(scene.range, at, factor, scene.whole);
    setChosen(next.to - next.from >= scene.whole.to - scene.whole.from ? undefined : next);
  };
  useEffect(() => {
    const canvas = element.current;
    canvas?.addEventListener('wheel', onWheel, { passive: false });
    return () => canvas?.removeEventListener('wheel', onWheel);
  });
  const onHover = (event: PointerEvent): void => {
    const { x, y } = pointOf(event);
    const canvas = event.currentTarget as HTMLCanvasElement;
    const title = scene === undefined ? '' : titleAt(scene, x, y);
    if (canvas.title !== title) canvas.title = title;
  };
  /** Returns the position of a visible event in pixels from the left. */
  const eventPlace = (seq: number): number | undefined => {
    const event = lanes.model.event(seq);
    if (event === undefined || scene === undefined) return undefined;
    const at = lanes.at(event);
    return at < scene.range.from || at > scene.range.to ? undefined : xIn(scene, at);
  };
  return (
    <section class="axis" aria-label="Time axis">
      <div class="axis-legend">
        <Legend lanes={lanes} />
        {chosen !== undefined && scene !== undefined && lanes.model.timed && (
          <span>{duration(scene.range.to - scene.range.from)} shown</span>
        )}
        <span class="axis-hint">
          drag to zoom, <kbd>0</kbd> whole rollout, <kbd>Z</kbd> this step
        </span>
        {onCollapse !== undefined && (
          <ActionLink label="collapse" title="Collapse the time axis" onClick={onCollapse} />
        )}
      </div>
      <div class="axis-row">
        <AxisSlider
          session={session}
          onZoom={(factor) => {
            if (scene === undefined) return;
            const { range } = scene;
            zoom(scene, selected?.from ?? (range.from + range.to) / 2, factor);
          }}
        >
          <canvas
            ref={element}
            class="axis-canvas"
            style={{ height: `${heightOf(lanes.lanes)}px` }}
            aria-hidden="true"
            onPointerDown={onPointerDown}
            onPointerMove={onHover}
            onDblClick={() => setChosen(undefined)}
          />
        </AxisSlider>
        <ScoreColumn session={session} />
      </div>
      <ForkLane session={session} placeOf={eventPlace} gutter={scene?.gutter ?? 0} width={scene?.width ?? 0} />
    </section>
  );
}

/** Items without room are left out as a whole. */
function Legend({ lanes }: { readonly lanes: Lanes }) {
  const { interrupted } = lanes;
  return (
    <div class="axis-kinds">
      <Sample kind="queued" />
      {lanes.model.holds.length > 0 && <Sample kind="held" />}
      <Sample kind="prefill" />
      <Sample kind="generating" />
      <Sample kind="tool" />
      <span class="axis-sign">
        <Glyph outcome="failed" /> error
      </span>
      {interrupted && (
        <span class="axis-sign" title="An infrastructure failure, such as a lost worker, ended the call">
          <Glyph outcome="infrastructure" /> interrupted
        </span>
      )}
      <span class="axis-sign">
        <span class="axis-world">◆</span> world changed
      </span>
      {(interrupted || lanes.lanes.some((lane) => lane.kind === 'infra')) && (
        <span class="axis-sign">
          <span class="axis-sample is-infra" /> infrastructure
        </span>
      )}
    </div>
  );
}

function Sample({ kind }: { readonly kind: 'queued' | 'held' | 'prefill' | 'generating' | 'tool' }) {
  return (
    <span class="axis-sign">
      <span class={`axis-sample is-${kind}`} /> {kind}
    </span>
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

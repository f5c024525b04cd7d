/** The axis as a bar, on low pages and above the transcript. There, a click jumps and a drag scrolls. */
import { useEffect, useLayoutEffect, useReducer } from 'preact/hooks';
import type { TrajectorySession } from '../session.ts';
import { AxisSlider } from './axisSlider.tsx';
import { itemTitle } from './axisTitle.ts';
import { BAR_FORM, BAR_HEIGHT, laneAt } from './paint/bar.ts';
import { idleAt, nearest } from './paint/hit.ts';
import { type Scene, valueIn } from './paint/scene.ts';
import type { Range } from './scale.ts';
import { ScoreColumn } from './scoreColumn.tsx';
import { useAxis } from './useAxis.ts';

/** Pixels a pointer moves before it is a drag. */
export const DRAG = 4;

interface AxisBarProps {
  readonly session: TrajectorySession;
  /** Shows the axis in full. Absent above the transcript. */
  readonly onExpand?: () => void;
}

export function AxisBar({ session, onExpand }: AxisBarProps) {
  const { canvas, scene: whole, paint } = useAxis(session, BAR_FORM, (width) => (width > 560 ? 40 : 28));
  const inView = useInView(session);
  const scene = whole === undefined ? undefined : { ...whole, inView };
  useLayoutEffect(() => {
    if (scene !== undefined) paint({ scene, dragged: undefined });
  });
  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0 || scene === undefined || onExpand !== undefined) return;
    const element = event.currentTarget as HTMLCanvasElement;
    element.setPointerCapture(event.pointerId);
    const { left, top } = element.getBoundingClientRect();
    const start = event.clientX;
    let dragging = false;
    const onMove = (moved: PointerEvent): void => {
      dragging ||= Math.abs(moved.clientX - start) > DRAG;
      if (dragging) session.transcript.scrollTo(scene.lanes.seqAt(valueIn(scene, moved.clientX - left)));
    };
    const onUp = (): void => {
      element.removeEventListener('pointermove', onMove);
      if (!dragging) session.go(seqAt(scene, start - left, event.clientY - top));
    };
    element.addEventListener('pointermove', onMove);
    element.addEventListener('pointerup', onUp, { once: true });
  };
  const onHover = (event: PointerEvent): void => {
    const element = event.currentTarget as HTMLCanvasElement;
    const { left, top } = element.getBoundingClientRect();
    const title = scene === undefined ? '' : titleAt(scene, event.clientX - left, event.clientY - top);
    if (element.title !== title) element.title = title;
  };
  return (
    <section class="axis is-bar" aria-label="Time axis">
      <div class="axis-row">
        <AxisSlider session={session}>
          <canvas
            ref={canvas}
            class="axis-canvas"
            style={{ height: `${BAR_HEIGHT}px` }}
            aria-hidden="true"
            onPointerDown={onPointerDown}
            onPointerMove={onHover}
          />
        </AxisSlider>
        {onExpand !== undefined && (
          <button
            type="button"
            class="axis-expand"
            title="Expand the time axis (Z)"
            aria-label="Expand the time axis"
            onClick={onExpand}
          />
        )}
        <ScoreColumn session={session} />
      </div>
    </section>
  );
}

/** Returns the time that the transcript shows. */
function useInView(session: TrajectorySession): Range | undefined {
  const { transcript, data, look } = session;
  const [, render] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const watch = transcript.scrolled(() => render(undefined));
    return () => watch.dispose();
  }, [transcript]);
  const { inView } = transcript;
  if (!session.reading || inView === undefined) return undefined;
  const [first, last] = [data.model.event(inView.from), data.model.event(inView.to)];
  return first === undefined || last === undefined
    ? undefined
    : { from: look.lanes.at(first), to: look.lanes.at(last) };
}

function itemOf(scene: Scene, x: number, y: number) {
  const lane = scene.lanes.lanes.find(({ kind }) => kind === laneAt(y));
  return lane === undefined ? undefined : nearest(scene, lane.items, x, undefined);
}

function seqAt(scene: Scene, x: number, y: number): number {
  return itemOf(scene, x, y)?.seq ?? scene.lanes.seqAt(valueIn(scene, x));
}

function titleAt(scene: Scene, x: number, y: number): string {
  const item = itemOf(scene, x, y);
  return item === undefined ? (idleAt(scene, x)?.text ?? '') : itemTitle(scene, item);
}

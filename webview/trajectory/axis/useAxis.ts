/** What both forms of the time axis share: the canvas, its colors, and what is drawn on it. */
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useNow } from '../../components/useNow.ts';
import type { TrajectorySession } from '../session.ts';
import { idleTimes } from './idle.ts';
import type { Lanes } from './lanes.ts';
import { type AxisForm, AxisPicture, type Picture } from './paint/picture.ts';
import { type AxisMark, type Divergence, readColours, type Scene } from './paint/scene.ts';
import { collapsing, type Range } from './scale.ts';

/** Pixels for `held 12:30 min`. */
const HELD_ROOM = 96;

interface Axis {
  readonly canvas: RefObject<HTMLCanvasElement | null>;
  /** The axis with the whole time in view; undefined until its size is known. */
  readonly scene: Scene | undefined;
  /** Draws with the next frame. */
  readonly paint: (picture: Picture) => void;
}

/** @param gutterOf Returns the pixels left of the time. */
export function useAxis(session: TrajectorySession, form: AxisForm, gutterOf: (width: number) => number): Axis {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const { lanes } = session.look;
  lanes.advance();
  if (session.data.loading !== 'loading') lanes.advanceOutside(session.data.outside);
  const holding = lanes.model.holdsAt().length > 0;
  const now = useNow(holding);
  useLayoutEffect(() => {
    if (canvas.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(canvas.current);
    return () => observer.disconnect();
  }, []);
  const theme = useTheme();
  const colours = useMemo(
    () => (canvas.current === null ? undefined : readColours(canvas.current)),
    [theme, width > 0],
  );
  const gutter = gutterOf(width);
  const { version } = lanes;
  const scale = useMemo(() => collapsing(idleTimes(lanes), lanes.end, width - gutter), [lanes, version, width, gutter]);
  const drawing = useRef<{ readonly picture: AxisPicture; next: Picture | undefined; frame: number }>(undefined);
  const state = (drawing.current ??= { picture: new AxisPicture(form), next: undefined, frame: 0 });
  useEffect(() => () => cancelAnimationFrame(state.frame), [state]);
  const paint = (picture: Picture): void => {
    state.next = picture;
    if (state.frame !== 0) return;
    state.frame = requestAnimationFrame(() => {
      state.frame = 0;
      if (canvas.current !== null && state.next !== undefined) state.picture.paint(canvas.current, state.next);
    });
  };
  if (width === 0 || colours === undefined) return { canvas, scene: undefined, paint };
  // A hold is at the end, and its text needs some room.
  const room = holding ? HELD_ROOM / Math.max(HELD_ROOM, width - gutter - HELD_ROOM) : 0;
  const { timed } = lanes.model;
  const whole: Range = { from: timed ? 0 : 1, to: Math.max(timed ? 1 : 2, scale.after(lanes.end, room)) };
  const scene: Scene = {
    lanes,
    marks: marksOf(session, lanes),
    range: whole,
    whole,
    scale,
    diverges: divergenceOf(session, lanes),
    selected: lanes.rangeOf(session.seq),
    width,
    gutter,
    colours,
    now,
  };
  return { canvas, scene, paint };
}

/** Changes with the colors and fonts. */
function useTheme(): number {
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme((version) => version + 1));
    observer.observe(document.body, { attributes: true, attributeFilter: ['class', 'data-vscode-theme-kind'] });
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['style'] });
    // The lanes' icons need their font.
    void document.fonts.load('14px codicon').then(() => setTheme((version) => version + 1));
    return () => observer.disconnect();
  }, []);
  return theme;
}

function divergenceOf({ data: { split, model } }: TrajectorySession, lanes: Lanes): Divergence | undefined {
  const event = split === undefined ? undefined : model.event(split.seq);
  if (event === undefined) return undefined;
  const step = model.end?.seq === event.seq ? undefined : model.stepOf(event.seq);
  const start = step === undefined || step.index === 0 ? undefined : step.model?.start;
  return { at: lanes.at(start ?? event), step: start === undefined ? undefined : step?.index };
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

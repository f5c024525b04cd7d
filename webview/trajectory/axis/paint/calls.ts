/** Draws the bar of a model or tool call: outlined while it waited, then colored by kind and outcome. */

import { duration } from '../../../../src/common/units.ts';
import type { Wait } from '../../../../src/trace/callTimes.ts';
import { wasPredictedOtherwise } from '../../../../src/trace/prediction/ofCall.ts';
import { type Trouble, troubleOf } from '../../../../src/trace/trouble.ts';
import type { Item } from '../lanes.ts';
import { BAR, type Colours, callColour, MIN_BAR, type Scene, xIn } from './scene.ts';
import { type Area, broken, cross, dashed, hatch, inkOn, inside, textFont, triangle, unequal } from './shapes.ts';

/** Narrower bars have no text, and narrower gaps no label: a long trajectory has thousands of them. */
const MIN_WORDS = 24;
const MIN_LABEL = 8;
/** Parts of a bar with fewer pixels are not drawn separately. */
const MIN_PART = 2;
/** Narrower bars have no rounded corners. */
const MIN_ROUND = 4;
/** Width of the sign of a trouble, in pixels. */
const SIGN = 10;

export interface Box {
  readonly from: number;
  readonly to: number;
  readonly top: number;
  readonly height: number;
}

export interface Room {
  readonly from: number;
  readonly to: number;
  readonly top: number;
  /** End of the previous bar in its row. */
  readonly before: number;
  /** End of the previous label. */
  readonly free: number;
  /** Start of the next item, which a label must not cover. */
  readonly next: number;
}

/** The drawn bar of a call. `started`: its part after the waits; undefined if the call never started. */
interface DrawnCall {
  readonly bar: Box;
  readonly started: Box | undefined;
}

export function barColour(scene: Scene, item: Item): string {
  return isHeld(scene, item) ? scene.colours.held : callColour(scene.colours, item);
}

/** Returns whether the call is held now. */
function isHeld({ lanes }: Scene, { seq }: Item): boolean {
  return lanes.model.holdsOf(seq).some((hold) => lanes.isOpen({ hold }));
}

export function plainBar(
  canvas: CanvasRenderingContext2D,
  colour: string,
  { from, to, top, height }: Box,
  open: boolean,
): void {
  canvas.fillStyle = colour;
  canvas.globalAlpha = open ? 0.5 : 1;
  if (to - from < MIN_ROUND) {
    canvas.fillRect(from, top, Math.max(1, to - from), height);
  } else {
    canvas.beginPath();
    canvas.roundRect(from, top, to - from, height, 1.5);
    canvas.fill();
  }
  canvas.globalAlpha = 1;
}

/** Draws a call as one bar, with its duration on it if it fits. */
export function callBar(
  canvas: CanvasRenderingContext2D,
  scene: Scene,
  item: Item,
  whole: Box,
  room: Room,
): DrawnCall & { /** Whether its duration is drawn on it. */ readonly timed: boolean } {
  const { colours, lanes } = scene;
  if (isHeld(scene, item)) {
    plainBar(canvas, colours.held, whole, true);
    dashed(canvas, colours.held, outlineOf(whole));
    return { bar: whole, started: whole, timed: false };
  }
  const drawn = drawWaits(canvas, scene, item, whole, room);
  const { started } = drawn;
  if (started === undefined) return { ...drawn, timed: false };
  if (troubleOf(item.span) === 'interrupted') {
    broken(canvas, colours.infra, outlineOf(started));
    return { ...drawn, timed: false };
  }
  const colour = callColour(colours, item);
  plainBar(canvas, colour, started, lanes.isOpen(item));
  const ms = msOf(scene, item);
  if (ms === undefined || started.height < BAR || started.to - started.from < MIN_WORDS)
    return { ...drawn, timed: false };
  textFont(canvas, colours, 10);
  const timed = inside(canvas, inkOn(canvas, colour), duration(ms), wordsIn(scene, started));
  textFont(canvas, colours);
  return { ...drawn, timed };
}

/** Draws the phases of a model call: queued dashed, prefill hatched, and generating filled with its duration. */
export function modelBar(canvas: CanvasRenderingContext2D, scene: Scene, item: Item, whole: Box, room: Room): void {
  const { colours, lanes } = scene;
  const end = item.span?.kind === 'model' ? item.span.end?.data : undefined;
  const phases =
    end !== undefined &&
    lanes.model.timed &&
    (end.queue_ms !== undefined || end.first_ms !== undefined) &&
    troubleOf(item.span) === undefined &&
    !isHeld(scene, item);
  if (!phases) {
    sign(canvas, scene, item, callBar(canvas, scene, item, whole, room).bar, room);
    return;
  }
  const { started: box } = drawWaits(canvas, scene, item, whole, room);
  const start = lanes.startOf(item);
  if (box === undefined || start === undefined) return;
  const { from, to, top, height } = box;
  const { queue_ms: queueMs, first_ms: firstMs, ms } = end;
  const at = (after: number): number => Math.min(to, xIn(scene, start + after));
  const queued = queueMs === undefined ? from : at(queueMs);
  const first = firstMs === undefined ? queued : Math.max(queued, at(firstMs));
  const words = height >= BAR && to - from >= MIN_WORDS;
  if (words) textFont(canvas, colours, 10);
  if (queued - from >= MIN_PART) {
    dashed(canvas, colours.model, { x: from, y: top, width: queued - from, height });
    if (words) inside(canvas, colours.dim, `queued ${duration(queueMs ?? 0)}`, wordsIn(scene, { ...box, to: queued }));
  }
  if (first - queued >= MIN_PART) hatch(canvas, colours.model, { x: queued, y: top, width: first - queued, height });
  plainBar(canvas, colours.model, { from: first, to, top, height }, false);
  if (words && ms !== undefined)
    inside(
      canvas,
      inkOn(canvas, colours.model),
      duration(Math.max(0, ms - (firstMs ?? queueMs ?? 0))),
      wordsIn(scene, { ...box, from: first }),
    );
  if (words) textFont(canvas, colours);
}

/** Returns the end of the call's label. */
export function toolBar(canvas: CanvasRenderingContext2D, scene: Scene, item: Item, whole: Box, room: Room): number {
  const { from, free, next } = room;
  const { colours } = scene;
  const { bar, timed } = callBar(canvas, scene, item, whole, room);
  const ms = msOf(scene, item);
  const time = ms === undefined ? '' : duration(ms);
  let x = sign(canvas, scene, item, bar, room);
  const edge = Math.min(next, scene.width) - 4;
  if (item.row === 1 || from < free || edge - x < MIN_LABEL) return free;
  const y = bar.top + BAR / 2 + 0.5;
  const width = canvas.measureText(item.label).width;
  if (x + width > edge) return free;
  canvas.fillStyle = colours.text;
  canvas.textAlign = 'left';
  canvas.fillText(item.label, x, y);
  x += width + 6;
  if (timed || time === '' || x + canvas.measureText(time).width > edge) return x;
  canvas.fillStyle = colours.dim;
  canvas.fillText(time, x, y);
  return x + canvas.measureText(time).width + 6;
}

/**
 * Draws the sign of a trouble, or else of a wrong prediction, after the bar if it fits; that of an interruption also on
 * a hatched bar. Returns where the label may start.
 */
export function sign(
  canvas: CanvasRenderingContext2D,
  { colours, lanes }: Scene,
  { span }: Item,
  { from, to, top, height }: Box,
  { next }: Room,
): number {
  const x = to + 4;
  const y = top + (height - 6) / 2;
  const trouble = troubleOf(span);
  if (trouble === undefined) {
    if (span === undefined || x + 7 >= next || !wasPredictedOtherwise(lanes.model, span.seq)) return x;
    unequal(canvas, colours.world, x, y);
    return x + SIGN;
  }
  if (x + 6 < next) {
    troubleSign(canvas, colours, trouble, x, y);
    return x + SIGN;
  }
  if (trouble === 'interrupted' && to - from >= MIN_WORDS) {
    canvas.fillStyle = colours.background;
    canvas.fillRect(to - SIGN - 4, top + 1, SIGN + 3, height - 2);
    troubleSign(canvas, colours, trouble, to - SIGN - 1, y);
  }
  return x;
}

/** Draws the sign of a trouble, distinguished by shape. */
export function troubleSign(
  canvas: CanvasRenderingContext2D,
  colours: Colours,
  trouble: Trouble,
  x: number,
  y: number,
): void {
  if (trouble === 'error') cross(canvas, colours.error, x, y);
  else triangle(canvas, colours.infra, x, y);
}

/** Outlines the time a call waited before it started. */
function drawWaits(
  canvas: CanvasRenderingContext2D,
  scene: Scene,
  item: Item,
  whole: Box,
  { before }: Room,
): DrawnCall {
  const { colours, lanes } = scene;
  const at = lanes.startOf(item);
  if (at === item.from) return { bar: whole, started: whole };
  for (const wait of lanes.waitsOf(item)) {
    // Sequential calls of a step were requested together, so their waits overlap the previous bars.
    const box = { ...whole, from: Math.max(xIn(scene, wait.from), before), to: xIn(scene, wait.to) };
    if (box.to - box.from < MIN_PART) continue;
    dashed(canvas, wait.held ? colours.held : callColour(colours, item), outlineOf(box));
    if (whole.height < BAR || box.to - box.from < MIN_WORDS) continue;
    textFont(canvas, colours, 10);
    inside(canvas, colours.dim, waitText(wait), wordsIn(scene, box));
    textFont(canvas, colours);
  }
  if (at === undefined) return { bar: whole, started: undefined };
  const from = xIn(scene, at);
  const bar = { ...whole, to: Math.max(whole.to, from + MIN_BAR) };
  return { bar, started: { ...bar, from } };
}

/** Returns `held 12.4 s`, or `waited …` without a hold. */
export function waitText({ from, to, held }: Wait): string {
  return `${held ? 'held' : 'waited'} ${duration(to - from)}`;
}

function msOf({ lanes }: Scene, { span }: Item): number | undefined {
  return lanes.model.timed ? span?.end?.data.ms : undefined;
}

function outlineOf({ from, to, top, height }: Box): Area {
  return { x: from, y: top, width: to - from, height };
}

/** Returns the visible part of a bar, for text. */
function wordsIn({ gutter, width }: Scene, { from, to, top, height }: Box): Parameters<typeof inside>[3] {
  return { from: Math.max(gutter, from), to: Math.min(width, to), y: top + height / 2 + 0.5 };
}

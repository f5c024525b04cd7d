/** Draws the bars and marks of one lane. */
import { duration } from '../../../../src/common/units.ts';
import { heldFor } from '../../heldFor.ts';
import { firstInSight, type Item, type Lane, nextAfter } from '../lanes.ts';
import { type Box, barColour, callBar, modelBar, plainBar, type Room, sign, toolBar } from './calls.ts';
import { BAR, edgesOf, INNER_BAR, MIN_BAR, type Scene, SIZES, valueIn, xIn } from './scene.ts';
import { broken, diamond, outlined } from './shapes.ts';

export function paintLane(canvas: CanvasRenderingContext2D, scene: Scene, lane: Lane, top: number): void {
  const { lanes, range } = scene;
  for (let i = firstInSight(lane.frames, range.from, (item) => lanes.endOf(item)); i < lane.frames.length; i++) {
    const item = lane.frames[i];
    if (item === undefined || item.from > range.to) break;
    frame(canvas, scene, edgesOf(scene, item), top);
  }
  const runs = new Runs(canvas);
  /** End of the previous bar, by row. */
  const drawn = [-Infinity, -Infinity];
  let free = -Infinity;
  for (let i = firstInSight(lane.items, range.from, (item) => lanes.endOf(item)); i < lane.items.length; i++) {
    const item = lane.items[i];
    if (item === undefined || item.from > range.to) break;
    const { from, to } = edgesOf(scene, item);
    const following = lane.items[i + 1];
    const next = following === undefined ? Infinity : xIn(scene, following.from);
    const before = drawn[item.row] ?? -Infinity;
    const bar = item.form === 'model' || item.form === 'tool';
    if ((bar || item.form === 'world') && to - from <= MIN_BAR && (next < to || from < before)) {
      // Of tiny items that start on the same pixel, draw only one.
      if (bar) runs.add(barColour(scene, item), barOf(lane, item, { from, to, top }));
      else if (from >= before - MIN_BAR / 2) diamond(canvas, scene.colours.world, from, top + SIZES.world / 2);
      if (bar || from >= before - MIN_BAR / 2) drawn[item.row] = Math.max(before, to);
      i = nextAfter(lane.items, i, valueIn(scene, from + 1)) - 1;
      continue;
    }
    if (to <= before + 0.5) continue;
    runs.flush();
    drawn[item.row] = Math.max(to, from + 1);
    free = paintItem(canvas, scene, lane, item, { from, to, top, before, free, next });
  }
  runs.flush();
}

/** Draws adjacent bars of one color together: a long trajectory has thousands of them. */
class Runs {
  readonly #canvas: CanvasRenderingContext2D;
  /** By top position: each row of a lane has its own run. */
  readonly #runs = new Map<
    number,
    { readonly colour: string; readonly from: number; to: number; readonly height: number }
  >();

  constructor(canvas: CanvasRenderingContext2D) {
    this.#canvas = canvas;
  }

  add(colour: string, { from, to, top, height }: Box): void {
    const run = this.#runs.get(top);
    if (run !== undefined && run.colour === colour && from <= run.to) {
      run.to = Math.max(run.to, to);
      return;
    }
    if (run !== undefined) plainBar(this.#canvas, run.colour, { ...run, top }, false);
    this.#runs.set(top, { colour, from, to, height });
  }

  flush(): void {
    for (const [top, run] of this.#runs) plainBar(this.#canvas, run.colour, { ...run, top }, false);
    this.#runs.clear();
  }
}

/** Returns the box of an item's bar in its lane. */
function barOf(
  lane: Lane,
  { row }: Item,
  { from, to, top }: { readonly from: number; readonly to: number; readonly top: number },
): Box {
  if (lane.kind === 'tools') return { from, to, top: top + 3 + row * 15, height: BAR };
  const height = lane.kind === 'agent' ? INNER_BAR : BAR;
  return { from, to, top: top + (SIZES[lane.kind] - height) / 2, height };
}

/** Returns the end of the item's label. */
function paintItem(canvas: CanvasRenderingContext2D, scene: Scene, lane: Lane, item: Item, room: Room): number {
  const { from, top } = room;
  switch (item.form) {
    case 'model':
      modelBar(canvas, scene, item, barOf(lane, item, room), room);
      return room.free;
    case 'tool':
      if (lane.kind !== 'agent') return toolBar(canvas, scene, item, barOf(lane, item, room), room);
      sign(canvas, scene, item, callBar(canvas, scene, item, barOf(lane, item, room), room).bar, room);
      return room.free;
    case 'world':
      diamond(canvas, scene.colours.world, from, top + SIZES.world / 2);
      return room.free;
    case 'agent':
      return room.free; // Frames are drawn separately.
    case 'hold':
    case 'infra':
    case 'lease':
    case 'control':
      return infraItem(canvas, scene, item, room);
  }
}

function frame(
  canvas: CanvasRenderingContext2D,
  { colours }: Scene,
  { from, to }: { readonly from: number; readonly to: number },
  top: number,
): void {
  canvas.fillStyle = colours.agent;
  canvas.strokeStyle = colours.agent;
  canvas.lineWidth = 1;
  canvas.beginPath();
  canvas.roundRect(from + 0.5, top + 3.5, Math.max(MIN_BAR, to - from) - 1, SIZES.agent - 7, 1.5);
  canvas.globalAlpha = 0.15;
  canvas.fill();
  canvas.globalAlpha = 1;
  canvas.stroke();
}

/** Draws infrastructure events with a duration hatched, holds outlined, and moments as diamonds, each with a label. */
function infraItem(
  canvas: CanvasRenderingContext2D,
  scene: Scene,
  item: Item,
  { from, to, top, free, next }: Room,
): number {
  const { colours, lanes } = scene;
  const colour = item.form === 'hold' ? colours.held : colours.infra;
  const y = top + SIZES.infra / 2;
  const wide = lanes.endOf(item) > item.from || lanes.isOpen(item);
  if (wide) {
    const box = { x: from, y: y - BAR / 2, width: to - from, height: BAR };
    if (item.form === 'hold') {
      plainBar(canvas, colour, { from, to, top: box.y, height: BAR }, true);
      outlined(canvas, colour, box);
    } else {
      broken(canvas, colour, box);
    }
  } else if (item.form === 'control') {
    canvas.strokeStyle = colours.dim;
    canvas.lineWidth = 1;
    canvas.beginPath();
    canvas.arc(from, y, 3, 0, Math.PI * 2);
    canvas.stroke();
  } else {
    diamond(canvas, colour, from, y);
  }
  const text = labelOf(scene, item);
  const width = canvas.measureText(text).width;
  const after = (wide ? to : from + 4) + 4;
  const fits = after + width <= Math.min(next, scene.width) - 4;
  const x = fits ? after : from - width - 6;
  if (x < Math.max(free, scene.gutter)) return free;
  canvas.fillStyle = colours.text;
  canvas.textAlign = 'left';
  canvas.fillText(text, x, y + 0.5);
  return fits ? x + width + 6 : after;
}

/** Returns the label of an item: its name, and its duration so far if its bar has none. */
export function labelOf({ lanes, now }: Pick<Scene, 'lanes' | 'now'>, item: Item): string {
  const { hold } = item;
  if (!lanes.model.timed) return item.label;
  if (hold !== undefined) {
    const ms = hold.release?.data.held_ms ?? (lanes.isOpen(item) ? heldFor(hold, now) : undefined);
    return ms === undefined ? item.label : `${item.label} ${duration(ms)}`;
  }
  const ms = lanes.endOf(item) - item.from;
  return ms > 0 && item.span === undefined ? `${item.label} ${duration(ms)}` : item.label;
}

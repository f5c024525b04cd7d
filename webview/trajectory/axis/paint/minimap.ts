/** Draws the whole time range in small (waits as a line), with a frame around the visible part. */
import { type Item, type Lane, nextAfter } from '../lanes.ts';
import { callColour, type Scene, SIZES } from './scene.ts';

export function paintMinimap(canvas: CanvasRenderingContext2D, scene: Scene): void {
  const { lanes, whole, range, scale, width, gutter, colours } = scene;
  const inner = width - gutter;
  const all = lanes.lanes;
  for (const lane of all) if (lane.kind === 'agent') strip(canvas, scene, lane.frames, () => colours.agent, 11, 5);
  strip(canvas, scene, itemsOf(all, 'model'), (item) => callColour(colours, item), 5, 4);
  strip(canvas, scene, itemsOf(all, 'tools'), (item) => callColour(colours, item), 11, 5);
  const from = gutter + scale.x(range.from, whole, inner);
  const to = gutter + scale.x(range.to, whole, inner);
  canvas.fillStyle = colours.background;
  canvas.globalAlpha = 0.5;
  canvas.fillRect(gutter, 2, from - gutter, SIZES.minimap - 4);
  canvas.fillRect(to, 2, width - to, SIZES.minimap - 4);
  canvas.globalAlpha = 1;
  if (range.to - range.from < (whole.to - whole.from) * 0.999) {
    canvas.strokeStyle = colours.focus;
    canvas.lineWidth = 1;
    canvas.strokeRect(from + 0.5, 2.5, Math.max(3, to - from - 1), SIZES.minimap - 5);
    canvas.fillStyle = colours.focus;
    for (const x of [from, to]) canvas.fillRect(x - 2, 7, 4, 8);
  }
  canvas.fillStyle = colours.line;
  canvas.fillRect(0, SIZES.minimap - 1, width, 1);
}

/** Draws the items of a lane over the whole time as one row of bars. */
export function strip(
  canvas: CanvasRenderingContext2D,
  { lanes, whole, scale, width, gutter }: Scene,
  items: readonly Item[],
  colourOf: (item: Item) => string,
  y: number,
  height: number,
): void {
  const inner = width - gutter;
  let drawn = -1;
  let run: { readonly colour: string; readonly from: number } | undefined;
  const flush = (): void => {
    if (run === undefined) return;
    canvas.fillStyle = run.colour;
    canvas.fillRect(gutter + run.from, y, drawn - run.from, height);
    run = undefined;
  };
  for (let i = 0; i < items.length; i = nextAfter(items, i, scale.valueAt(drawn, whole, inner))) {
    const item = items[i];
    if (item === undefined) break;
    const from = Math.floor(scale.x(item.from, whole, inner));
    const start = lanes.startOf(item);
    const begin = start === undefined ? Infinity : Math.max(from, Math.floor(scale.x(start, whole, inner)));
    const to = Math.max((start === undefined ? from : begin) + 2, scale.x(lanes.endOf(item), whole, inner));
    if (to <= drawn) continue;
    const colour = colourOf(item);
    if (begin - Math.max(from, drawn) >= 2) {
      flush();
      const waited = Math.max(from, drawn);
      drawn = Math.min(begin, to);
      canvas.fillStyle = colour;
      canvas.fillRect(gutter + waited, y + Math.floor(height / 2), drawn - waited, 1);
    }
    if (begin >= to) continue;
    // Adjacent bars are drawn together.
    if (run === undefined || run.colour !== colour || begin > drawn) {
      flush();
      run = { colour, from: Math.max(begin, drawn) };
    }
    drawn = to;
  }
  flush();
}

export function itemsOf(lanes: readonly Lane[], kind: Lane['kind']): readonly Item[] {
  return lanes.find((lane) => lane.kind === kind)?.items ?? [];
}

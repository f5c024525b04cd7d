/** Draws the time axis on a canvas: minimap, clock, step flags, lanes. */
import { duration } from '../../format.ts';
import { firstInSight, nextAfter, type Item, type Lane, type Lanes } from './lanes.ts';
import { ticks, valueAt, xOf, type Range } from './scale.ts';

export const SIZES = { minimap: 22, clock: 16, flags: 18, model: 22, tools: 34, agent: 22, world: 16, infra: 20 } as const;
const BAR = 12;
const INNER_BAR = 8;
const LEAST_BAR = 6;

export interface Colours {
  readonly text: string;
  readonly dim: string;
  readonly line: string;
  readonly background: string;
  readonly model: string;
  readonly tool: string;
  readonly agent: string;
  readonly error: string;
  readonly world: string;
  readonly infra: string;
  readonly held: string;
  readonly focus: string;
  readonly selection: string;
  readonly font: string;
}

export function readColours(element: Element): Colours {
  const style = getComputedStyle(element);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return {
    text: get('--vscode-foreground'), dim: get('--axis-dim'), line: get('--vscode-panel-border'), background: get('--vscode-editor-background'),
    model: get('--bar-model'), tool: get('--bar-tool'), agent: get('--bar-agent'), error: get('--outcome-failed'), world: get('--vscode-gitDecoration-modifiedResourceForeground'),
    infra: get('--outcome-infrastructure'), held: get('--outcome-held'), focus: get('--vscode-focusBorder'), selection: get('--vscode-list-inactiveSelectionBackground'), font: get('--vscode-font-family'),
  };
}

export interface Scene {
  readonly lanes: Lanes;
  readonly range: Range;
  readonly whole: Range;
  /** Of what is selected. */
  readonly selected: Range | undefined;
  readonly seq: number;
  readonly width: number;
  /** Pixels left of the time, for the lanes' names. */
  readonly gutter: number;
  readonly colours: Colours;
}

export function heightOf(lanes: readonly Lane[]): number {
  return SIZES.minimap + SIZES.clock + SIZES.flags + lanes.reduce((sum, lane) => sum + SIZES[lane.kind], 0) + 4;
}

export function paint(canvas: CanvasRenderingContext2D, scene: Scene): void {
  const { width, gutter, colours, lanes: { lanes } } = scene;
  canvas.clearRect(0, 0, width, heightOf(lanes));
  canvas.font = `11px ${colours.font}`;
  canvas.textBaseline = 'middle';
  minimap(canvas, scene);
  const top = SIZES.minimap;
  const height = heightOf(lanes);
  canvas.save();
  canvas.beginPath();
  canvas.rect(gutter, top, width - gutter, height - top);
  canvas.clip();
  if (scene.selected !== undefined) selection(canvas, scene, scene.selected, top, height);
  clock(canvas, scene, top, height);
  flags(canvas, scene, top + SIZES.clock);
  let y = top + SIZES.clock + SIZES.flags;
  for (const lane of lanes) {
    paintLane(canvas, scene, lane, y);
    y += SIZES[lane.kind];
  }
  canvas.restore();
  names(canvas, scene);
}

/** Which item is at a point; undefined between them. */
export function itemAt({ lanes, range, width, gutter }: Scene, x: number, y: number): Item | undefined {
  let top: number = SIZES.minimap + SIZES.clock + SIZES.flags;
  for (const lane of lanes.lanes) {
    const height = SIZES[lane.kind];
    if (y >= top && y < top + height) {
      const row = lane.kind === 'tools' ? Math.floor((y - top) / (height / 2)) : 0;
      const near = (item: Item): number => {
        const from = gutter + xOf(item.from, range, width - gutter);
        const to = Math.max(from + LEAST_BAR, gutter + xOf(lanes.endOf(item), range, width - gutter));
        return x < from ? from - x : x > to ? x - to : 0;
      };
      let best: Item | undefined;
      for (let i = firstInSight(lane.items, range.from, (item) => lanes.endOf(item)); i < lane.items.length; i++) {
        const item = lane.items[i];
        if (item === undefined || item.from > range.to) break;
        if ((lane.kind !== 'tools' || item.row === row) && near(item) < 4 && (best === undefined || near(item) <= near(best))) best = item;
      }
      return best;
    }
    top += height;
  }
  return undefined;
}

function selection(canvas: CanvasRenderingContext2D, { range, width, gutter, colours }: Scene, selected: Range, top: number, height: number): void {
  const from = gutter + xOf(selected.from, range, width - gutter);
  const to = Math.max(from + 2, gutter + xOf(selected.to, range, width - gutter));
  canvas.fillStyle = colours.selection;
  canvas.fillRect(from, top, to - from, height - top);
  canvas.fillStyle = colours.focus;
  canvas.fillRect(from, top + SIZES.clock, 1, height);
  canvas.fillRect(to - 1, top + SIZES.clock, 1, height);
}

function clock(canvas: CanvasRenderingContext2D, { range, width, gutter, colours, lanes }: Scene, top: number, height: number): void {
  for (const at of ticks(range, width - gutter, 80, lanes.model.timed)) {
    const x = Math.round(gutter + xOf(at, range, width - gutter)) + 0.5;
    canvas.strokeStyle = colours.line;
    canvas.lineWidth = 1;
    canvas.beginPath();
    canvas.moveTo(x, top + SIZES.clock);
    canvas.lineTo(x, height);
    canvas.stroke();
    canvas.fillStyle = colours.dim;
    canvas.textAlign = 'center';
    canvas.fillText(lanes.model.timed ? tickText(at) : `#${at}`, Math.min(width - 20, Math.max(gutter + 14, x)), top + SIZES.clock / 2);
  }
}

function tickText(ms: number): string {
  return ms === 0 ? '0 s' : ms % 1000 === 0 && ms < 60_000 ? `${ms / 1000} s` : duration(ms);
}

function flags(canvas: CanvasRenderingContext2D, { lanes, range, width, gutter, colours }: Scene, top: number): void {
  canvas.textAlign = 'left';
  let free = -Infinity;
  const { steps } = lanes;
  let low = 0;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((steps[middle]?.from ?? Infinity) < range.from) low = middle + 1;
    else high = middle;
  }
  for (let i = Math.max(0, low - 1); i < steps.length; i++) {
    const step = steps[i];
    if (step === undefined || step.from > range.to) break;
    const x = gutter + xOf(step.from, range, width - gutter);
    if (x < free) continue;
    canvas.fillStyle = colours.line;
    canvas.fillRect(x, top, 1, SIZES.flags);
    canvas.fillStyle = colours.text;
    const text = String(step.index);
    canvas.fillText(text, Math.max(gutter, x) + 4, top + SIZES.flags / 2);
    free = x + 10 + text.length * 7;
    if (lanes.failed(step.index)) {
      cross(canvas, colours.error, free - 2, top + SIZES.flags / 2 - 3);
      free += 10;
    }
  }
}

function paintLane(canvas: CanvasRenderingContext2D, scene: Scene, lane: Lane, top: number): void {
  const { lanes, range, width, gutter } = scene;
  const inner = width - gutter;
  // Of items that fall on the same pixel one is drawn.
  const drawn = [-Infinity, -Infinity];
  let free = -Infinity;
  for (let i = firstInSight(lane.items, range.from, (item) => lanes.endOf(item)); i < lane.items.length; i++) {
    const item = lane.items[i];
    if (item === undefined || item.from > range.to) break;
    const from = gutter + xOf(item.from, range, inner);
    const to = Math.max(from + LEAST_BAR, gutter + xOf(lanes.endOf(item), range, inner));
    if (to <= (drawn[item.row] ?? -Infinity) + 0.5) {
      // Past those that would be drawn over; where rows overlap, only past what both cover.
      i = nextAfter(lane.items, i, valueAt(Math.min(...drawn.filter((x) => x > -Infinity)) - LEAST_BAR - gutter, range, inner)) - 1;
      continue;
    }
    drawn[item.row] = Math.max(to, from + 1);
    switch (lane.kind) {
      case 'model':
        modelBar(canvas, scene, item, from, to, top + (SIZES.model - BAR) / 2, BAR);
        break;
      case 'agent':
        modelBar(canvas, scene, item, from, to, top + (SIZES.agent - INNER_BAR) / 2, INNER_BAR);
        break;
      case 'tools':
        free = toolBar(canvas, scene, item, { from, to, top, free, next: nextInRow(scene, lane, i) });
        break;
      case 'world':
        diamond(canvas, scene.colours.world, from, top + SIZES.world / 2);
        break;
      case 'infra':
        diamond(canvas, item.label.startsWith('held') ? scene.colours.held : scene.colours.infra, from, top + SIZES.infra / 2);
    }
  }
}

/** Queued: dashed; prefill: hatched; generating: filled. */
function modelBar(canvas: CanvasRenderingContext2D, { colours, lanes, range, width, gutter }: Scene, item: Item, from: number, to: number, top: number, height: number): void {
  const end = item.span?.kind === 'model' ? item.span.end?.data : undefined;
  const colour = end?.status === 'error' ? colours.error : colours.model;
  const at = (ms: number): number => Math.min(to, gutter + xOf(item.from + ms, range, width - gutter));
  const queued = end?.queue_ms === undefined || !lanes.model.timed ? from : at(end.queue_ms);
  const first = end?.first_ms === undefined || !lanes.model.timed ? queued : at(end.first_ms);
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1;
  if (queued - from >= 2) {
    canvas.setLineDash([3, 2]);
    canvas.strokeRect(from + 0.5, top + 0.5, queued - from - 1, height - 1);
    canvas.setLineDash([]);
  }
  if (first - queued >= 2) hatch(canvas, colour, queued, top, first - queued, height);
  canvas.fillStyle = colour;
  canvas.globalAlpha = item.span !== undefined && item.span.end === undefined ? 0.5 : 1;
  canvas.fillRect(first, top, Math.max(1, to - first), height);
  canvas.globalAlpha = 1;
}

function hatch(canvas: CanvasRenderingContext2D, colour: string, x: number, y: number, width: number, height: number): void {
  canvas.save();
  canvas.beginPath();
  canvas.rect(x, y, width, height);
  canvas.clip();
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1.5;
  canvas.beginPath();
  for (let at = x - height; at < x + width; at += 5) {
    canvas.moveTo(at, y + height);
    canvas.lineTo(at + height, y);
  }
  canvas.stroke();
  canvas.restore();
}

/** Where the next call begins that would be drawn over a label of this one. */
function nextInRow({ range, width, gutter }: Scene, lane: Lane, index: number): number {
  const next = lane.items[index + 1];
  return next === undefined ? Infinity : gutter + xOf(next.from, range, width - gutter);
}

function toolBar(canvas: CanvasRenderingContext2D, { colours }: Scene, item: Item, { from, to, top, free, next }: { readonly from: number; readonly to: number; readonly top: number; readonly free: number; readonly next: number }): number {
  const end = item.span?.kind === 'tool' ? item.span.end?.data : undefined;
  const failed = end?.status === 'error';
  const y = top + 3 + item.row * 15;
  canvas.fillStyle = failed ? colours.error : colours.tool;
  canvas.globalAlpha = item.span !== undefined && item.span.end === undefined ? 0.5 : 1;
  canvas.fillRect(from, y, to - from, BAR);
  canvas.globalAlpha = 1;
  let x = to + 4;
  if (failed) {
    cross(canvas, colours.error, x, y + 3);
    x += 10;
  }
  if (item.row === 1 || from < free || x + canvas.measureText(item.label).width + 4 > next) return free;
  canvas.fillStyle = colours.text;
  canvas.textAlign = 'left';
  canvas.fillText(item.label, x, y + BAR / 2 + 0.5);
  return x + item.label.length * 6.5 + 8;
}

function cross(canvas: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  canvas.strokeStyle = colour;
  canvas.lineWidth = 1.5;
  canvas.beginPath();
  canvas.moveTo(x, y);
  canvas.lineTo(x + 6, y + 6);
  canvas.moveTo(x + 6, y);
  canvas.lineTo(x, y + 6);
  canvas.stroke();
}

function diamond(canvas: CanvasRenderingContext2D, colour: string, x: number, y: number): void {
  canvas.fillStyle = colour;
  canvas.beginPath();
  canvas.moveTo(x, y - 4);
  canvas.lineTo(x + 4, y);
  canvas.lineTo(x, y + 4);
  canvas.lineTo(x - 4, y);
  canvas.fill();
}

/** All of it, small, with a frame around what is in sight. */
function minimap(canvas: CanvasRenderingContext2D, { lanes, whole, range, width, gutter, colours }: Scene): void {
  const inner = width - gutter;
  const strip = (lane: Lane | undefined, y: number, height: number): void => {
    let drawn = -1;
    const items = lane?.items ?? [];
    for (let i = 0; i < items.length; i = nextAfter(items, i, whole.from + (drawn / inner) * (whole.to - whole.from))) {
      const item = items[i];
      if (item === undefined) break;
      const from = Math.floor(xOf(item.from, whole, inner));
      const to = Math.max(from + 2, xOf(lanes.endOf(item), whole, inner));
      if (to <= drawn) continue;
      const end = item.span?.end?.data;
      canvas.fillStyle = end !== undefined && 'error' in end && end.error !== undefined ? colours.error : lane?.kind === 'tools' ? colours.tool : colours.model;
      canvas.fillRect(gutter + Math.max(from, drawn), y, to - Math.max(from, drawn), height);
      drawn = to;
    }
  };
  const all = lanes.lanes;
  strip(all.find((lane) => lane.kind === 'model'), 5, 4);
  strip(all.find((lane) => lane.kind === 'tools'), 11, 5);
  const from = gutter + xOf(range.from, whole, inner);
  const to = gutter + xOf(range.to, whole, inner);
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

function names(canvas: CanvasRenderingContext2D, { lanes, whole, gutter, colours }: Scene): void {
  if (gutter < 40) return;
  canvas.textAlign = 'left';
  canvas.fillStyle = colours.dim;
  canvas.fillText(lanes.model.timed ? `0 to ${duration(whole.to)}` : `${whole.to} events`, 12, SIZES.minimap / 2);
  let y = SIZES.minimap + SIZES.clock + SIZES.flags;
  for (const lane of lanes.lanes) {
    const name = lane.kind === 'agent' ? (lane.name.split('/').at(-1) ?? lane.name) : lane.name;
    canvas.fillText(name.length > 11 ? `${name.slice(0, 10)}…` : name, 12, y + (lane.kind === 'tools' ? 9 : SIZES[lane.kind] / 2));
    y += SIZES[lane.kind];
  }
}

/** Draws the clock, the collapsed times, and the divergence, for both forms of the axis. */
import { duration } from '../../../../src/common/units.ts';
import type { Idle } from '../idle.ts';
import { type Scene, xIn } from './scene.ts';
import { textFont } from './shapes.ts';

/** Pixels from one label of the clock to the next, and around a label. */
const TICK_PX = 80;
const LABEL_GAP = 4;

/** Part of a row, in pixels. */
interface Extent {
  readonly from: number;
  readonly to: number;
}

interface Row {
  readonly top: number;
  readonly height: number;
  /** Where the lines of the clock end. */
  readonly bottom: number;
  /** Parts that have no room for labels. */
  readonly taken: readonly Extent[];
}

/** Draws the clock's labels and lines, and how long each collapsed time took. */
export function clockRow(canvas: CanvasRenderingContext2D, scene: Scene, { top, height, bottom, taken }: Row): void {
  const { range, scale, width, gutter, colours, lanes } = scene;
  if (lanes.model.last === 0) return;
  const used: Extent[] = [...taken];
  const label = (text: string, x: number, colour: string): void => {
    const half = canvas.measureText(text).width / 2;
    const middle = Math.min(width - half - 2, Math.max(gutter + half + 2, x));
    const box = { from: middle - half - LABEL_GAP, to: middle + half + LABEL_GAP };
    if (used.some(({ from, to }) => from < box.to && to > box.from)) return;
    used.push(box);
    canvas.fillStyle = colour;
    canvas.textAlign = 'center';
    canvas.fillText(text, middle, top + height / 2);
  };
  textFont(canvas, colours, 10);
  for (const cut of visibleCuts(scene)) {
    const [from, to] = [xIn(scene, cut.from), xIn(scene, cut.to)];
    label(duration(cut.to - cut.from), (from + to) / 2, cut.held ? colours.held : colours.dim);
  }
  for (const at of scale.ticks(range, width - gutter, TICK_PX, lanes.model.timed)) {
    const x = Math.round(xIn(scene, at)) + 0.5;
    canvas.strokeStyle = colours.grid;
    canvas.lineWidth = 1;
    canvas.beginPath();
    canvas.moveTo(x, top + height);
    canvas.lineTo(x, bottom);
    canvas.stroke();
    label(lanes.model.timed ? tickText(at) : `#${at}`, x, colours.dim);
  }
  textFont(canvas, colours);
}

/** Formats a time exactly: rounded, the labels of close ones would be equal. */
function tickText(ms: number): string {
  if (ms === 0) return '0 s';
  if (ms < 1000) return `${ms} ms`;
  const parts = [
    [Math.floor(ms / 3_600_000), 'h'],
    [Math.floor(ms / 60_000) % 60, 'min'],
    [(ms % 60_000) / 1000, 's'],
  ];
  return parts.flatMap(([value, unit]) => (value === 0 ? [] : [`${value} ${unit}`])).join(' ');
}

export function visibleCuts({ scale, range }: Scene): readonly Idle[] {
  return scale.cuts.filter(({ from, to }) => to > range.from && from < range.to);
}

/** Draws where time is collapsed: a band with torn edges. */
export function cutBand(canvas: CanvasRenderingContext2D, scene: Scene, cut: Idle, top: number, bottom: number): void {
  const { colours } = scene;
  const [from, to] = [xIn(scene, cut.from), xIn(scene, cut.to)];
  canvas.fillStyle = cut.held ? colours.held : colours.dim;
  canvas.globalAlpha = 0.1;
  canvas.fillRect(from, top, to - from, bottom - top);
  canvas.globalAlpha = 1;
  canvas.strokeStyle = cut.held ? colours.held : colours.dim;
  canvas.lineWidth = 1;
  for (const x of [from, to]) {
    canvas.beginPath();
    for (let y = top; y <= bottom; y += ZIGZAG) {
      const at = Math.round(x) + 0.5 + ((y - top) % (2 * ZIGZAG) === 0 ? 1.5 : -1.5);
      if (y === top) canvas.moveTo(at, y);
      else canvas.lineTo(at, y);
    }
    canvas.stroke();
  }
}

const ZIGZAG = 3;

interface DivergenceLabel extends Extent {
  /** Of its line. */
  readonly x: number;
  readonly text: string;
}

/** Returns the label of the divergence, moved so that all of it is visible; undefined without one in sight. */
export function divergenceLabel(canvas: CanvasRenderingContext2D, scene: Scene): DivergenceLabel | undefined {
  const { diverges, range, gutter, width } = scene;
  if (diverges === undefined || diverges.at < range.from || diverges.at > range.to) return undefined;
  const text = diverges.step === undefined ? 'diverges' : `${diverges.step} diverges`;
  const x = xIn(scene, diverges.at);
  const size = canvas.measureText(text).width;
  const from = Math.max(gutter + 4, Math.min(x + 4, width - size - 4));
  return { x, text, from, to: from + size };
}

export function paintDivergence(
  canvas: CanvasRenderingContext2D,
  { colours }: Scene,
  { x, text, from }: DivergenceLabel,
  top: number,
  height: number,
): void {
  canvas.fillStyle = colours.focus;
  canvas.fillRect(Math.round(x), top, 2, height);
  canvas.fillStyle = colours.text;
  canvas.textAlign = 'left';
  canvas.fillText(text, from, top + height / 2);
}

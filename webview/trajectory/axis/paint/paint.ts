/** Draws the time axis on a canvas: minimap, clock, marks, step flags, and lanes, without the selection. */

import { plural } from '../../../../src/common/text.ts';
import { duration } from '../../../../src/common/units.ts';
import type { IconName } from '../../../components/marks/icon.tsx';
import { firstFrom, type LaneKind } from '../lanes.ts';
import type { Range } from '../scale.ts';
import { paintLane } from './bars.ts';
import { troubleSign } from './calls.ts';
import { paintMinimap } from './minimap.ts';
import type { AxisForm } from './picture.ts';
import { heightOf, LANES_TOP, type Scene, SIZES, valueIn, xIn } from './scene.ts';
import { bookmark, icon, note, textFont } from './shapes.ts';
import { clockRow, cutBand, divergenceLabel, paintDivergence, visibleCuts } from './time.ts';

const LANE_ICONS: Readonly<Record<LaneKind, IconName>> = {
  model: 'comment',
  tools: 'tools',
  agent: 'hubot',
  world: 'database',
  infra: 'server',
};

/** The axis in full. */
export const FULL: AxisForm = {
  heightOf: ({ lanes }) => heightOf(lanes.lanes),
  paint,
  paintBehind: (canvas, scene) => {
    const { selected, width, gutter, lanes } = scene;
    if (selected === undefined) return;
    canvas.save();
    canvas.beginPath();
    canvas.rect(gutter, SIZES.minimap, width - gutter, heightOf(lanes.lanes) - SIZES.minimap);
    canvas.clip();
    paintSelection(canvas, scene, selected);
    canvas.restore();
  },
};

export function paint(canvas: CanvasRenderingContext2D, scene: Scene): void {
  const {
    width,
    gutter,
    colours,
    lanes: { lanes },
  } = scene;
  const height = heightOf(lanes);
  canvas.clearRect(0, 0, width, height);
  textFont(canvas, colours);
  canvas.textBaseline = 'middle';
  paintMinimap(canvas, scene);
  const top = SIZES.minimap;
  canvas.save();
  canvas.beginPath();
  canvas.rect(gutter, top, width - gutter, height - top);
  canvas.clip();
  clock(canvas, scene, height);
  flags(canvas, scene);
  let y = LANES_TOP;
  for (const lane of lanes) {
    paintLane(canvas, scene, lane, y);
    y += SIZES[lane.kind];
  }
  held(canvas, scene, height);
  for (const mark of scene.marks)
    (mark.kind === 'bookmark' ? bookmark : note)(canvas, colours.note, xIn(scene, mark.at), top + 3);
  canvas.restore();
  names(canvas, scene);
}

/** Draws the selection, below everything else. */
function paintSelection(canvas: CanvasRenderingContext2D, scene: Scene, selected: Range): void {
  const height = heightOf(scene.lanes.lanes);
  const from = xIn(scene, selected.from);
  const to = Math.max(from + 2, xIn(scene, selected.to));
  const top = SIZES.minimap + SIZES.clock;
  canvas.fillStyle = scene.colours.selection;
  canvas.fillRect(from, top, to - from, height - top);
  canvas.fillStyle = scene.colours.focus;
  canvas.fillRect(from, top, to - from, 1);
  canvas.fillRect(from, top, 1, height);
  canvas.fillRect(to - 1, top, 1, height);
}

function clock(canvas: CanvasRenderingContext2D, scene: Scene, height: number): void {
  const top = SIZES.minimap;
  clockRow(canvas, scene, { top, height: SIZES.clock, bottom: height, taken: [] });
  for (const cut of visibleCuts(scene)) cutBand(canvas, scene, cut, top + SIZES.clock, height);
}

/** Draws the start of each step, whether it failed, and, if there is room, its duration. */
function flags(canvas: CanvasRenderingContext2D, scene: Scene): void {
  const { lanes, range, width, colours, diverges } = scene;
  const { steps } = lanes;
  const top = SIZES.minimap + SIZES.clock;
  const middle = top + SIZES.flags / 2;
  const split = divergenceLabel(canvas, scene);
  let free = -Infinity;
  for (let i = Math.max(0, firstFrom(steps, range.from) - 1); i < steps.length; i++) {
    const step = steps[i];
    if (step === undefined || step.from > range.to) break;
    const x = xIn(scene, step.from);
    if (x < free) {
      i = firstFrom(steps, valueIn(scene, free), i + 1) - 1;
      continue;
    }
    canvas.fillStyle = colours.line;
    canvas.fillRect(x, top, 1, SIZES.flags);
    const text = String(step.index);
    const from = Math.max(scene.gutter, x) + 4;
    // The label of the divergence has the number of its step.
    if (split !== undefined && from + canvas.measureText(text).width + 16 > split.from && from < split.to) {
      free = split.to + 6;
      if (step.index !== diverges?.step) continue;
    } else {
      canvas.fillStyle = colours.text;
      canvas.textAlign = 'left';
      canvas.fillText(text, from, middle);
      free = from + canvas.measureText(text).width + 6;
    }
    const trouble = lanes.troubleIn(step.index);
    if (trouble !== undefined) {
      troubleSign(canvas, colours, trouble, free - 1, middle - 3);
      free += 10;
    }
    const next = steps[i + 1];
    const taken = lanes.rangeOf(step.seq);
    if (!lanes.model.timed || taken === undefined) continue;
    const time = duration(taken.to - taken.from);
    const end = Math.min(width, next === undefined ? xIn(scene, taken.to) : xIn(scene, next.from)) - 5;
    textFont(canvas, colours, 10);
    if (end - canvas.measureText(time).width > free + 4) {
      canvas.fillStyle = colours.dim;
      canvas.textAlign = 'right';
      canvas.fillText(time, end, middle);
    }
    textFont(canvas, colours);
  }
  if (split !== undefined) paintDivergence(canvas, scene, split, top, SIZES.flags);
}

/** Draws a line where the rollout is held. */
function held(canvas: CanvasRenderingContext2D, scene: Scene, height: number): void {
  const hold = scene.lanes.model.holdsAt().at(-1);
  if (hold === undefined) return;
  const x = Math.round(xIn(scene, scene.lanes.at(hold.event)));
  const top = SIZES.minimap + SIZES.clock;
  canvas.fillStyle = scene.colours.held;
  canvas.fillRect(x, top, 1, height - top);
  canvas.beginPath();
  canvas.moveTo(x - 4, top);
  canvas.lineTo(x + 5, top);
  canvas.lineTo(x + 0.5, top + 6);
  canvas.fill();
}

function names(canvas: CanvasRenderingContext2D, { lanes, whole, gutter, colours }: Scene): void {
  const wide = gutter > 40;
  canvas.textAlign = 'left';
  canvas.fillStyle = colours.dim;
  if (wide && lanes.model.last > 0)
    canvas.fillText(
      lanes.model.timed ? `0 to ${duration(whole.to)}` : plural(whole.to, 'event'),
      12,
      SIZES.minimap / 2,
    );
  let y = LANES_TOP;
  for (const lane of lanes.lanes) {
    const middle = y + (lane.kind === 'tools' ? 9 : SIZES[lane.kind] / 2);
    icon(canvas, colours, LANE_ICONS[lane.kind], wide ? 12 : 6, middle);
    if (wide) canvas.fillText(lane.name.length > 11 ? `${lane.name.slice(0, 10)}…` : lane.name, 32, middle);
    y += SIZES[lane.kind];
  }
}

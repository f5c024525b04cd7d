/** Draws the axis as a bar: the clock, and the calls of models and tools over the whole time. */

import { itemsOf, strip } from './minimap.ts';
import type { AxisForm } from './picture.ts';
import { callColour, xIn } from './scene.ts';
import { icon, textFont } from './shapes.ts';
import { clockRow, cutBand, divergenceLabel, paintDivergence, visibleCuts } from './time.ts';

export const BAR_HEIGHT = 40;
const CLOCK = 14;
const MODEL = { top: 17, height: 8 };
const TOOLS = { top: 28, height: 8 };
const ICON = 11;

/** Returns the lane at a height. */
export function laneAt(y: number): 'model' | 'tools' {
  return y < TOOLS.top - 1 ? 'model' : 'tools';
}

export const BAR_FORM: AxisForm = {
  heightOf: () => BAR_HEIGHT,
  paint: (canvas, scene) => {
    const { width, gutter, colours, lanes } = scene;
    canvas.clearRect(0, 0, width, BAR_HEIGHT);
    textFont(canvas, colours);
    canvas.textBaseline = 'middle';
    const all = lanes.lanes;
    canvas.save();
    canvas.beginPath();
    canvas.rect(gutter, 0, width - gutter, BAR_HEIGHT);
    canvas.clip();
    textFont(canvas, colours, 10);
    const split = divergenceLabel(canvas, scene);
    clockRow(canvas, scene, {
      top: 0,
      height: CLOCK,
      bottom: BAR_HEIGHT,
      taken: split === undefined ? [] : [{ from: split.x - 4, to: split.to + 4 }],
    });
    for (const cut of visibleCuts(scene)) cutBand(canvas, scene, cut, CLOCK, BAR_HEIGHT);
    const colourOf = callColour.bind(undefined, colours);
    for (const lane of all)
      if (lane.kind === 'agent') strip(canvas, scene, lane.frames, () => colours.agent, TOOLS.top, TOOLS.height);
    strip(canvas, scene, itemsOf(all, 'model'), colourOf, MODEL.top, MODEL.height);
    strip(canvas, scene, itemsOf(all, 'tools'), colourOf, TOOLS.top, TOOLS.height);
    const hold = lanes.model.holdsAt().at(-1);
    if (hold !== undefined) {
      canvas.fillStyle = colours.held;
      canvas.fillRect(Math.round(xIn(scene, lanes.at(hold.event))), CLOCK, 2, BAR_HEIGHT);
    }
    textFont(canvas, colours, 10);
    if (split !== undefined) {
      paintDivergence(canvas, scene, split, 0, CLOCK);
      canvas.fillStyle = colours.focus;
      canvas.fillRect(Math.round(split.x), CLOCK, 1, BAR_HEIGHT - CLOCK);
    }
    textFont(canvas, colours);
    canvas.restore();
    canvas.fillStyle = colours.dim;
    const x = gutter > 30 ? 12 : 6;
    icon(canvas, colours, 'comment', x, MODEL.top + MODEL.height / 2, ICON);
    icon(canvas, colours, 'tools', x, TOOLS.top + TOOLS.height / 2, ICON);
  },
  paintBehind: (canvas, scene) => {
    const { inView, selected, colours, width } = scene;
    if (inView !== undefined) {
      const from = xIn(scene, inView.from);
      const to = Math.min(width, Math.max(from + 4, xIn(scene, inView.to)));
      canvas.fillStyle = colours.selection;
      canvas.fillRect(from, CLOCK, to - from, BAR_HEIGHT - CLOCK);
      // The fill has no color in high contrast.
      canvas.strokeStyle = colours.line;
      canvas.lineWidth = 1;
      canvas.strokeRect(Math.round(from) + 0.5, CLOCK + 0.5, Math.round(to - from) - 1, BAR_HEIGHT - CLOCK - 1);
    }
    if (selected === undefined) return;
    canvas.fillStyle = colours.focus;
    canvas.fillRect(Math.min(width - 2, Math.round(xIn(scene, selected.from))), CLOCK, 2, BAR_HEIGHT - CLOCK);
  },
};

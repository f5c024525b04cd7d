/** Finds the item at a point of the time axis. */

import type { Idle } from '../idle.ts';
import { firstInSight, type Item } from '../lanes.ts';
import { type AxisMark, edgesOf, LANES_TOP, MIN_BAR, type Scene, SIZES, valueIn, xIn } from './scene.ts';

/** Pixels around an item that still hit it. */
const NEAR = 4;

/** Returns the item at a point; undefined between items. A sub-agent's frame is returned only if no item is there. */
export function itemAt(scene: Scene, x: number, y: number): Item | undefined {
  let top: number = LANES_TOP;
  for (const lane of scene.lanes.lanes) {
    const height = SIZES[lane.kind];
    if (y >= top && y < top + height) {
      const row = lane.kind === 'tools' ? Math.floor((y - top) / (height / 2)) : undefined;
      return nearest(scene, lane.items, x, row) ?? nearest(scene, lane.frames, x, undefined);
    }
    top += height;
  }
  return undefined;
}

export function nearest(scene: Scene, items: readonly Item[], x: number, row: number | undefined): Item | undefined {
  const { lanes } = scene;
  const [left, right] = [valueIn(scene, x - NEAR - MIN_BAR), valueIn(scene, x + NEAR)];
  let best: Item | undefined;
  let least = NEAR;
  for (let i = firstInSight(items, left, (item) => lanes.endOf(item)); i < items.length; i++) {
    const item = items[i];
    if (item === undefined || item.from > right) break;
    if (row !== undefined && item.row !== row) continue;
    const { from, to } = edgesOf(scene, item);
    const far = x < from ? from - x : x > to ? x - to : 0;
    if (far > least || (far === least && best === undefined)) continue;
    best = item;
    least = far;
  }
  return best;
}

/** Returns the bookmark or note at a point of the clock's row. */
export function markAt(scene: Scene, x: number, y: number): AxisMark | undefined {
  if (y < SIZES.minimap || y >= SIZES.minimap + SIZES.clock) return undefined;
  return scene.marks.findLast((mark) => Math.abs(xIn(scene, mark.at) - x) <= NEAR + 3);
}

/** Returns the collapsed time at a point. */
export function idleAt(scene: Scene, x: number): Idle | undefined {
  return x < scene.gutter ? undefined : scene.scale.cutAt(valueIn(scene, x));
}

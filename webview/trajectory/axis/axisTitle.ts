/** The tooltip of the axis. */
import { duration } from '../../../src/common/units.ts';
import { wasPredictedOtherwise } from '../../../src/trace/prediction/ofCall.ts';
import { troubleOf } from '../../../src/trace/trouble.ts';
import type { Item } from './lanes.ts';
import { labelOf } from './paint/bars.ts';
import { waitText } from './paint/calls.ts';
import { idleAt, itemAt, markAt } from './paint/hit.ts';
import type { Scene } from './paint/scene.ts';

export const TROUBLE_WORDS = { error: 'failed', interrupted: 'interrupted by an infrastructure failure' } as const;

/** Returns the text for what is under the pointer: a mark, an item, or a collapsed time. */
export function titleAt(scene: Scene, x: number, y: number): string {
  const mark = markAt(scene, x, y);
  if (mark !== undefined) return mark.text;
  const item = itemAt(scene, x, y);
  return item === undefined ? (idleAt(scene, x)?.text ?? '') : itemTitle(scene, item);
}

export function itemTitle(scene: Scene, item: Item): string {
  const { lanes } = scene;
  const start = lanes.startOf(item);
  const time =
    item.span === undefined || !lanes.model.timed
      ? ''
      : start === undefined
        ? lanes.isOpen(item)
          ? ''
          : 'not started'
        : duration(lanes.endOf(item) - start);
  const trouble = troubleOf(item.span);
  const error = item.span?.end?.data.error?.message;
  const wrong = trouble === undefined ? '' : `${TROUBLE_WORDS[trouble]}${error === undefined ? '' : `: ${error}`}`;
  const predicted =
    item.span?.kind === 'tool' && wasPredictedOtherwise(lanes.model, item.seq) ? 'predicted otherwise' : '';
  return [labelOf(scene, item), ...lanes.waitsOf(item).map(waitText), time, wrong, predicted, item.text]
    .filter((part) => part !== undefined && part !== '')
    .join(', ');
}

/** The `curriculum` of a batch: which tasks it runs, by their pass rates in an earlier batch. */
import { z } from 'zod';
import { CURRICULUM_ORDERS } from '../../trace/selection/curriculum.ts';
import { choice, expects, fault, share, text, whole } from './values.ts';

export const curriculumSection = z
  .strictObject({
    by: text('b01hqz6k3v9m2x4p7t', 'the ID of a batch, or last').describe(
      'The batch, in the same store, whose pass rates decide: its ID, or `last`. Tasks are the same if their IDs are.',
    ),
    keep: z
      .tuple([share('10%'), share('90%')], expects('the lowest and the highest pass rate', '[10%, 90%]'))
      .optional()
      .describe('Runs only tasks whose pass rate is in this band, and tasks without scored attempts.'),
    refresh: whole(1, 50)
      .optional()
      .describe(
        'Counts the pass rates again after each so many scored attempts, those of the earlier batch and of this one ' +
          'together: tasks outside `keep` get no new attempts and groups until they are in it again.',
      ),
    order: choice(CURRICULUM_ORDERS)
      .optional()
      .describe('Order of the tasks by their pass rates; tasks without one come last. Default: that of the dataset.'),
  })
  .superRefine(({ keep, order, refresh }, context) => {
    if (keep === undefined && order === undefined)
      fault(context, 'the curriculum does nothing', 'Add `keep: [10%, 90%]` or `order: hard_first`.');
    else if (keep === undefined && refresh !== undefined)
      fault(context, '`refresh` has no band to move', 'Add `keep: [10%, 90%]`, or remove `refresh`.', {
        path: ['refresh'],
      });
    const [low, high] = keep ?? [0, 1];
    if (typeof low === 'number' && typeof high === 'number' && low > high)
      fault(context, 'the lowest pass rate is above the highest', 'Write `keep: [10%, 90%]`.', { path: ['keep'] });
  });
export type CurriculumSection = z.output<typeof curriculumSection>;

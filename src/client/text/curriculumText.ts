import { plural } from '../../common/text.ts';
import type { CreateBatch } from '../../protocol/client.ts';

/** Says which tasks are left out, and why: `2 tasks left out by their pass rates in b1 (1 too hard, 1 too easy)`. */
export function curriculumText({
  by,
  unknown,
  too_hard: hard,
  too_easy: easy,
}: Omit<NonNullable<CreateBatch['curriculum']>, 'kept'>): string {
  const why = [...(hard > 0 ? [`${hard} too hard`] : []), ...(easy > 0 ? [`${easy} too easy`] : [])].join(', ');
  const left = `${plural(hard + easy, 'task')} left out by their pass rates in ${by}${why === '' ? '' : ` (${why})`}`;
  return unknown === 0 ? left : `${left}; ${plural(unknown, 'task')} without one kept`;
}

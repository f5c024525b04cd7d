/** What a budget by task and a curriculum came to, as text for reports and pages. */
import { plural } from '../../common/text.ts';
import { compact, costText } from '../../common/units.ts';
import type { Report } from './schema.ts';

type Budget = NonNullable<Report['budget']>;
type Curriculum = NonNullable<Report['curriculum']>;

/** Returns `200k tokens`, `a cost of 0.50`, or both. */
export function budgetLimit({ tokens, cost }: Budget): string {
  return [
    ...(tokens === null ? [] : [`${compact(tokens)} tokens`]),
    ...(cost === null ? [] : [`a cost of ${costText(cost)}`]),
  ].join(' or ');
}

/** Lists what it saved, and what the tasks have left: `10 attempts not begun`, `1.2M tokens unspent`. */
export function budgetParts({ not_begun: notBegun, unspent }: Budget): string[] {
  return [
    ...(notBegun === 0 ? [] : [`${plural(notBegun, 'attempt')} not begun`]),
    ...(unspent.tokens === null ? [] : [`${compact(unspent.tokens)} tokens unspent`]),
    ...(unspent.cost === null ? [] : [`a cost of ${costText(unspent.cost)} unspent`]),
  ];
}

/** Lists what the moving band of a curriculum came to; nothing if it does not move. */
export function bandParts({
  outside,
  outside_attempts: spent = 0,
  moves = 0,
  not_begun: notBegun = 0,
}: Curriculum): string[] {
  if (outside === undefined) return [];
  return [
    `${plural(outside, 'task')} outside now`,
    `moved ${moves === 1 ? 'once' : `${moves} times`}`,
    `${plural(spent, 'attempt')} spent outside`,
    ...(notBegun === 0 ? [] : [`${plural(notBegun, 'attempt')} not begun`]),
  ];
}

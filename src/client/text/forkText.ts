/** Forks as text: what one runs otherwise than its parent, and how both do from where they part. */

import type { AttemptRates, ForkRates } from '../../trace/statistics/fromHere.ts';
import { range, rate, signed } from './reportText.ts';
import { table } from './table.ts';

/** What differs, a line each, under a heading; '' when nothing does. */
export function differsText(differs: readonly string[]): string {
  return differs.length === 0
    ? ''
    : ['The fork runs something else than its parent did:', ...differs.map((line) => `  ${line}`)].join('\n');
}

/** pass@k of a fork beside its parent's: of one attempt, and of as many as the fork has. */
export function forkText(rates: ForkRates): string {
  const { seq, fork, parent, siblings, difference } = rates;
  const most = Object.keys(fork.pass_at).at(-1) ?? '1';
  const ks = most === '1' ? ['1'] : ['1', most];
  const line = (name: string, of: AttemptRates): string[] => [
    name,
    `${of.passed}/${of.scored}`,
    ...ks.flatMap((k) => [rate(of.pass_at[k]), range(of.intervals[k])]),
  ];
  const rows = [
    [`from event ${seq} on`, 'passed', ...ks.flatMap((k) => [`pass@${k}`, '95%'])],
    line('this fork', fork),
    ...(siblings === undefined ? [] : [line('parent, same way until there', siblings)]),
    line('parent, all attempts', parent),
  ];
  const lines = [table(rows, rows[0]?.flatMap((_, column) => (column === 0 ? [] : [column])) ?? [])];
  if (difference !== null) {
    const [low, high] = difference.interval;
    lines.push(
      `pass@1 ${signed(difference.value)} (${signed(low)} … ${signed(high)}) against ` +
        (difference.of === 'siblings' ? 'those that came the same way' : 'all of the parent’s'),
    );
  }
  return lines.join('\n');
}

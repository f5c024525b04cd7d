/** Renders forks as text: differences from the parent, and both pass rates from the fork point. */

import type { AttemptRates, ForkRates } from '../../trace/statistics/forkRates.ts';
import { range, rate, signed } from './reportText.ts';
import { table } from './table.ts';

/** Lists the differences under a heading. Returns '' if there are none. */
export function differsText(differs: readonly string[]): string {
  return differs.length === 0
    ? ''
    : ['The fork differs from its parent:', ...differs.map((line) => `  ${line}`)].join('\n');
}

/** Renders pass@1, and pass@k for the fork's number of attempts, of the fork and its parent. */
export function forkText(rates: ForkRates): string {
  const { seq, fork, parent, siblings, difference } = rates;
  const maxK = Object.keys(fork.pass_at).at(-1) ?? '1';
  const ks = maxK === '1' ? ['1'] : ['1', maxK];
  const line = (name: string, of: AttemptRates): string[] => [
    name,
    `${of.passed}/${of.scored}`,
    ...ks.flatMap((k) => [rate(of.pass_at[k]), range(of.intervals[k])]),
  ];
  const rows = [
    [`from event ${seq} on`, 'passed', ...ks.flatMap((k) => [`pass@${k}`, '95%'])],
    line('this fork', fork),
    ...(siblings === undefined ? [] : [line('parent, same path', siblings)]),
    line('parent, all attempts', parent),
  ];
  const lines = [table(rows, rows[0]?.flatMap((_, column) => (column === 0 ? [] : [column])) ?? [])];
  if (difference !== null) {
    const [low, high] = difference.interval;
    lines.push(
      `pass@1 ${signed(difference.value)} (${signed(low)} … ${signed(high)}) compared with ` +
        (difference.of === 'siblings' ? 'the parent’s attempts on the same path' : 'all of the parent’s attempts'),
    );
  }
  return lines.join('\n');
}

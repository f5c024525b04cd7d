/** The rates of worlds, as people read them. */
import { RATES, type Rate, type RateCount, type RateCounts } from '../schema/rates.ts';
import type { RateCase, WorldChecks } from './worldChecks.ts';

export const RATE_NAMES: Readonly<Record<Rate, string>> = {
  controllability: 'controllability',
  error_handling: 'error handling',
  consistency: 'long-context consistency',
};

/** Returns the rates that have cases, in their order. */
export function rateEntries(counts: RateCounts): { readonly rate: Rate; readonly count: RateCount }[] {
  return RATES.flatMap((rate) => {
    const count = counts[rate];
    return count === undefined || count.checked === 0 ? [] : [{ rate, count }];
  });
}

/** Returns a rate with its cases: `92% (45 of 49)`. */
export function rateText({ held, checked }: RateCount): string {
  return `${Math.floor((100 * held) / checked)}% (${held} of ${checked})`;
}

/** Adds counts to others. */
export function addRates(sums: RateCounts, counts: RateCounts): RateCounts {
  const next = { ...sums };
  for (const { rate, count } of rateEntries(counts)) {
    const sum = next[rate] ?? { checked: 0, held: 0 };
    next[rate] = { checked: sum.checked + count.checked, held: sum.held + count.held };
  }
  return next;
}

/** Returns the cases that a call decides, except for rules, whose checks are scores. `span`: seq of its start. */
export function casesOf({ cases }: WorldChecks, span: number): RateCase[] {
  return cases.filter(({ call, rule }) => call === span && rule !== 'obeyed');
}

/** Returns what a case says, with the call that decides it. */
export function caseText({ rate, held, text, earlier, turns }: RateCase): string {
  const after = earlier === undefined ? '' : ` (@${earlier}, ${turns === 1 ? '1 call' : `${turns ?? 0} calls`} before)`;
  return `${held ? '●' : '✗'} ${RATE_NAMES[rate]}: ${text}${after}`;
}

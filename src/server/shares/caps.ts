/** How much more a batch may have under limits of its user and its queue. Pure. */
import { type Claim, divide } from './divide.ts';

/** A batch under a limit. */
export interface Capped extends Claim {
  readonly batch: string;
  /** What it has now. */
  readonly has: number;
}

/**
 * Returns how much more a batch may have. All together never get more than the limit. What is free is divided as
 * everything is: by priority, then by weight; but nobody loses what it has.
 */
export function roomUnder(limit: number, all: readonly Capped[], batch: string): number {
  const own = all.findIndex((one) => one.batch === batch);
  const has = all[own]?.has ?? 0;
  const free = limit - all.reduce((sum, one) => sum + one.has, 0);
  if (free <= 0 || own < 0) return 0;
  const part = divide(limit, all)[own] ?? 0;
  // Rounded up, so that nothing stays free because nobody is entitled to a whole one.
  return Math.max(0, Math.min(free, Math.ceil(part - has - ROUNDING)));
}

const ROUNDING = 1e-6;

/** The use of a batch's token limit. */
import type { Report } from '../../../src/trace/statistics/schema.ts';

export interface TokenLimit {
  readonly most: number;
  readonly used: number;
  /**
   * Estimated final use at the current rate; undefined if too few attempts have ended, and once the batch has ended.
   */
  readonly expected: number | undefined;
}

/** Number of ended attempts that an estimate needs. */
const ENOUGH = 20;

/** Returns undefined without a limit or recorded usage. `over`: the batch has ended. */
export function tokenLimitOf(
  { tokens, side, attempts, open }: Pick<Report, 'tokens' | 'side' | 'attempts' | 'open'>,
  most: number | undefined,
  over: boolean,
): TokenLimit | undefined {
  if (tokens === null || most === undefined || most <= 0) return undefined;
  // Side models count, too.
  const used = tokens.input + tokens.output + (side === null ? 0 : side.input_tokens + side.output_tokens);
  const ended = attempts - open;
  return { most, used, expected: over || open === 0 || ended < ENOUGH ? undefined : (used / ended) * attempts };
}

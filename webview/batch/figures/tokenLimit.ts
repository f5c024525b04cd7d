/** How near a batch is to the tokens after which it stops. */
import type { Report } from '../../../src/trace/statistics/schema.ts';

export interface TokenLimit {
  readonly most: number;
  readonly used: number;
  /**
   * About what it will have used in the end, going on like this; undefined where too few attempts ended to tell, and
   * once it ended.
   */
  readonly expected: number | undefined;
}

/** Before so many attempts ended, the rest may be quite unlike them. */
const ENOUGH = 20;

/** `over`: the batch has ended. undefined: there is no limit, or no model call told its usage. */
export function tokenLimitOf(
  { tokens, attempts, open }: Pick<Report, 'tokens' | 'attempts' | 'open'>,
  most: number | undefined,
  over: boolean,
): TokenLimit | undefined {
  if (tokens === null || most === undefined || most <= 0) return undefined;
  const used = tokens.input + tokens.output;
  const ended = attempts - open;
  return { most, used, expected: over || open === 0 || ended < ENOUGH ? undefined : (used / ended) * attempts };
}

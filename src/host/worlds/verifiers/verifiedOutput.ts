/** Schema and texts of what `rollout world verify --json` prints. */
import { z } from 'zod';
import { flipsText, pairText } from '../../../client/text/verifiedText.ts';
import { place } from '../../../trace/schema.ts';

const verdict = z.object({ passed: z.boolean().nullable() }).nullable();

const verified = z.object({
  rollout: z.string(),
  task: z.string(),
  attempt: z.number().int(),
  stored: verdict,
  /** seq of the stored verdict. */
  score: z.number().int().optional(),
  now: verdict,
  error: z.string().optional(),
  place: place.optional(),
  flips: z.boolean(),
  checks: z.array(
    z.object({
      name: z.string(),
      stored: z.boolean().optional(),
      now: z.boolean().optional(),
      index: z.number().int().optional(),
    }),
  ),
});
type VerifiedRollout = z.infer<typeof verified>;

export const verifiedOutput = z.object({
  rollouts: z.array(verified),
  agreement: z.array(
    z.object({
      raters: z.tuple([z.string(), z.string()]),
      compared: z.number().int(),
      agreed: z.number().int(),
      kappa: z.number().nullable(),
    }),
  ),
});
export type VerifiedOutput = z.infer<typeof verifiedOutput>;

/** Why a verifier did not judge, once for all states where it failed in the same way. Positions start at 1. */
interface VerifierProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** Returns e.g. `2 of 12 stored verdicts change: 1 passes, 1 fails`. */
export function changesText({ rollouts }: VerifiedOutput): string {
  if (rollouts.length === 0) return 'No stored verdicts of this task';
  const flipped = rollouts.filter(({ flips }) => flips);
  const passes = flipped.filter(({ now }) => now?.passed === true).length;
  const errors = rollouts.filter(({ error }) => error !== undefined).length;
  return flipsText({ verdicts: rollouts.length, passes, fails: flipped.length - passes, errors });
}

/** Says how far the verifier, judges, and people agree; undefined if nobody else judged. */
export function agreementText({ agreement }: VerifiedOutput): string | undefined {
  return agreement.length === 0 ? undefined : agreement.map(pairText).join(' · ');
}

/** Returns the failures of the verifier in its file. */
export function problemsIn({ rollouts }: VerifiedOutput): VerifierProblem[] {
  const failures = rollouts.flatMap(({ error, place: at }) =>
    error === undefined || at === undefined ? [] : [{ line: at.line, column: at.column, message: error }],
  );
  const same = Map.groupBy(failures, ({ line, column, message }) => `${line}:${column}:${message}`);
  return [...same.values()].flatMap(([first, ...others]): VerifierProblem[] => {
    if (first === undefined) return [];
    const count = others.length + 1;
    const often = count === rollouts.length ? '' : ` (on ${count} of ${rollouts.length} stored final states)`;
    return [{ ...first, message: first.message + often }];
  });
}

/** Returns what changed first, then what could not be judged. */
export function inOrder(rollouts: readonly VerifiedRollout[]): VerifiedRollout[] {
  const rank = ({ flips, error }: VerifiedRollout): number => (flips ? 0 : error === undefined ? 2 : 1);
  return rollouts.toSorted((a, b) => rank(a) - rank(b));
}

/** Returns e.g. `passed → failed`. */
export function changeText({ stored, now, error }: VerifiedRollout): string {
  const text = (passed: boolean | null | undefined): string =>
    passed === true ? 'passed' : passed === false ? 'failed' : 'unscored';
  return `${text(stored?.passed)} → ${error === undefined ? text(now?.passed) : 'no verdict'}`;
}

/** Names the checks whose results changed, or says why there is no verdict. */
export function checksText({ error, checks }: VerifiedRollout): string {
  if (error !== undefined) return error;
  const mark = (passed: boolean | undefined): string => (passed === undefined ? '–' : passed ? '✓' : '✗');
  return checks.map(({ name, stored, now }) => `${name}: ${mark(stored)} → ${mark(now)}`).join(', ');
}

/** Returns the line, from 0, of the function that judges. */
export function functionLine(text: string): number {
  const functions = text.split(/\r?\n/).flatMap((line, index) => {
    const name = /^(?:async\s+)?def\s+(\w+)/.exec(line)?.[1];
    return name === undefined ? [] : [{ name, index }];
  });
  return (functions.find(({ name }) => name.startsWith('verify')) ?? functions.at(-1))?.index ?? 0;
}

/** Finds the step at which what attempts do tells most about whether they pass. */
import type { Action } from './actions.ts';
import type { ComparedAttempt } from './attempt.ts';
import type { Alignment } from './columns.ts';
import { actionText } from './label.ts';
import { sideFields } from './twoSides.ts';

export interface DecidingGroup {
  /** What tells this group from the other: `days: 14`. */
  readonly text: string;
  readonly passed: number;
  readonly scored: number;
}

export interface DecidingSplit {
  /** Step of the first attempt of the better group. */
  readonly step: number;
  /** Tools that both groups called; undefined if they called different ones. */
  readonly tools?: string;
  /** Difference of the pass rates, above 0. */
  readonly difference: number;
  readonly better: DecidingGroup;
  readonly worse: DecidingGroup;
}

interface Group {
  readonly action: Action;
  passed: number;
  scored: number;
}

/**
 * Returns the split that is associated most with the outcome. In each row, each action is compared with all others of
 * the row by the z score of their pass rates (the root of chi-square for two by two), which weights the difference with
 * the numbers of attempts: one attempt that acts differently tells little. Among equal scores the earliest row counts,
 * because later steps often only follow from it. The other side is the most different action of that row.
 */
export function decidingSplit(attempts: readonly ComparedAttempt[], { rows }: Alignment): DecidingSplit | undefined {
  let most = 0;
  let best: readonly [Group, Group] | undefined;
  for (const { cells } of rows) {
    const groups = new Map<string, Group>();
    for (const [index, { action }] of cells.entries()) {
      const passed = attempts[index]?.passed;
      if (action?.kind !== 'calls' || passed === undefined || passed === null) continue;
      const group = groups.get(action.key) ?? { action, passed: 0, scored: 0 };
      groups.set(action.key, group);
      group.scored += 1;
      if (passed) group.passed += 1;
    }
    const all = [...groups.values()];
    const total = all.reduce(joined, { passed: 0, scored: 0 });
    for (const group of all) {
      const rest = { passed: total.passed - group.passed, scored: total.scored - group.scored };
      const score = Math.abs(zScore(group, rest));
      if (score <= most + EPSILON) continue;
      const pair = all
        .filter((other) => other !== group)
        .map((other) => (rate(other) < rate(group) ? ([group, other] as const) : ([other, group] as const)))
        .reduce((a, b) => (zScore(...b) > zScore(...a) ? b : a));
      most = score;
      best = pair;
    }
  }
  return best === undefined ? undefined : splitOf(...best);
}

/** Scores that differ by rounding only are equal. */
const EPSILON = 1e-9;

type Counts = Pick<Group, 'passed' | 'scored'>;

function joined(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, scored: a.scored + b.scored };
}

/** The z score of two proportions; 0 if one has no attempt, or if all or none passed. */
function zScore(a: Counts, b: Counts): number {
  if (a.scored === 0 || b.scored === 0) return 0;
  const pooled = (a.passed + b.passed) / (a.scored + b.scored);
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / a.scored + 1 / b.scored));
  return deviation === 0 ? 0 : (rate(a) - rate(b)) / deviation;
}

function rate({ passed, scored }: Counts): number {
  return passed / scored;
}

function splitOf(better: Group, worse: Group): DecidingSplit {
  const [a, b] = [better.action, worse.action];
  const sameTools = a.shape === b.shape;
  const texts = a.calls.flatMap((call, index) =>
    sideFields(call, b.calls[index]).filter(({ name }) => name === 'arguments'),
  );
  const text = (side: 'left' | 'right'): string => texts.map((field) => field[side] ?? 'none').join(' + ');
  return {
    step: a.step,
    ...(sameTools ? { tools: a.calls.map(({ name }) => name).join(' + ') } : {}),
    difference: rate(better) - rate(worse),
    better: { text: sameTools ? text('left') : actionText(a), passed: better.passed, scored: better.scored },
    worse: { text: sameTools ? text('right') : actionText(b), passed: worse.passed, scored: worse.scored },
  };
}

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

/** Returns the pair of actions in one row whose pass rates differ most significantly; the first row among equals. */
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
    for (const better of all)
      for (const worse of all) {
        const score = significance(better, worse);
        if (score <= most) continue;
        most = score;
        best = [better, worse];
      }
  }
  return best === undefined ? undefined : splitOf(...best);
}

/** The z score of two proportions: small groups need larger differences. */
function significance(a: Group, b: Group): number {
  const pooled = (a.passed + b.passed) / (a.scored + b.scored);
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / a.scored + 1 / b.scored));
  return deviation === 0 ? 0 : (rate(a) - rate(b)) / deviation;
}

function rate({ passed, scored }: Group): number {
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

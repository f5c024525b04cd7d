/** Compares two batches attempt by attempt: the same attempt of a task has the same seeds in both. */
import type { ReportInput } from '../statistics.ts';
import { type Attempt, attemptsOf } from './outcomes.ts';
import type { Comparison } from './schema.ts';

/** Returns the pairs of scored attempts, and how the attempts that a rule hit ended in the batch without rules. */
export function pairAttempts(
  here: ReportInput,
  baseline: ReportInput,
): Pick<Comparison, 'perturbed' | 'pairs' | 'by_rule'> {
  const others = new Map(scored(baseline).map((attempt) => [keyOf(attempt), attempt]));
  const pairs = { attempts: 0, both: 0, only_here: 0, only_in_baseline: 0, neither: 0 };
  const byRule: Comparison['by_rule'] = {};
  const perturbed = { here: here.perturb?.on ?? null, baseline: baseline.perturb?.on ?? null };
  const isHere = perturbed.here === true && perturbed.baseline !== true;
  const isBaseline = perturbed.baseline === true && perturbed.here !== true;
  for (const attempt of scored(here)) {
    const other = others.get(keyOf(attempt));
    if (other === undefined) continue;
    pairs.attempts += 1;
    pairs[outcomeOf(attempt, other)] += 1;
    if (!isHere && !isBaseline) continue;
    const [hit, undisturbed] = isHere ? [attempt, other] : [other, attempt];
    for (const rule of Object.keys(hit.faults ?? {})) {
      const share = (byRule[rule] ??= { attempts: 0, passed: 0, passed_without: 0 });
      share.attempts += 1;
      if (hit.passed) share.passed += 1;
      if (undisturbed.passed) share.passed_without += 1;
    }
  }
  return { perturbed, pairs, by_rule: byRule };
}

function scored({ rows }: ReportInput): Attempt[] {
  return attemptsOf(rows).filter(({ settlement }) => settlement === 'scored');
}

function keyOf({ task, attempt }: Attempt): string {
  return `${attempt} ${task}`;
}

function outcomeOf(here: Attempt, baseline: Attempt): 'both' | 'only_here' | 'only_in_baseline' | 'neither' {
  if (here.passed) return baseline.passed ? 'both' : 'only_here';
  return baseline.passed ? 'only_in_baseline' : 'neither';
}

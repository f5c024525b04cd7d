/** Statistics of a tool over many calls, and over the attempts that used it. */
import { type PredictionAccuracy, PredictionTally } from '../prediction/statistics.ts';
import type { ErrorClass } from '../schema.ts';
import type { Attempt } from '../statistics/outcomes.ts';
import type { CallFact } from './fact.ts';

export interface ToolStats {
  readonly calls: number;
  /** Calls that have not ended. */
  readonly open: number;
  readonly errors: number;
  /** Errors by class, the most frequent first. */
  readonly byClass: Partial<Record<ErrorClass, number>>;
  /** Durations in ms, of the calls that recorded one; null without any. */
  readonly p50: number | null;
  readonly p95: number | null;
  /** How well a world predicted them; null without a prediction. */
  readonly predictions: Omit<PredictionAccuracy, 'name'> | null;
}

/** Number of attempts that used a tool, and in total. */
export interface UseShares {
  readonly passed: { readonly used: number; readonly of: number };
  readonly failed: { readonly used: number; readonly of: number };
}

export function toolStats(facts: Iterable<CallFact>): ToolStats {
  let calls = 0;
  let open = 0;
  let errors = 0;
  const counts = new Map<ErrorClass, number>();
  const times: number[] = [];
  const predicted = new PredictionTally();
  for (const fact of facts) {
    calls++;
    if (fact.open) open++;
    if (fact.error !== undefined) {
      errors++;
      counts.set(fact.error.class, (counts.get(fact.error.class) ?? 0) + 1);
    }
    if (fact.ms !== undefined) times.push(fact.ms);
    for (const prediction of fact.predictions) predicted.add(prediction);
  }
  const { name: _name, ...predictions } = predicted.accuracy('');
  return {
    calls,
    open,
    errors,
    byClass: Object.fromEntries([...counts].sort(([, a], [, b]) => b - a)),
    ...quantiles(times),
    predictions: predictions.calls === 0 ? null : predictions,
  };
}

/** Computes quantiles by nearest rank, as in the report of a batch. */
function quantiles(durations: readonly number[]): { p50: number | null; p95: number | null } {
  const times = Float64Array.from(durations).sort();
  const rank = (share: number): number | null => times[Math.ceil(share * times.length) - 1] ?? null;
  return { p50: rank(0.5), p95: rank(0.95) };
}

/** Counts the scored attempts that used at least one of the tools. */
export function useShares(attempts: readonly Attempt[], tools: ReadonlySet<string>): UseShares {
  const passed = { used: 0, of: 0 };
  const failed = { used: 0, of: 0 };
  for (const attempt of attempts) {
    if (attempt.settlement !== 'scored') continue;
    const side = attempt.passed ? passed : failed;
    side.of++;
    if (attempt.tools.some((name) => tools.has(name))) side.used++;
  }
  return { passed, failed };
}

/** The figures of the parts of a batch's mix. */
import type { Piecewise } from '../../common/piecewise.ts';
import type { RolloutRow } from '../summary.ts';
import { resampledIntervals, resamplesFor } from './bootstrap.ts';
import type { Attempt } from './outcomes.ts';
import type { Report } from './schema.ts';

type PartShare = Report['by_part'][string];

interface PartSums {
  readonly share: Omit<PartShare, 'mean' | 'interval'>;
  /** Sum and number of rewards by task. */
  readonly rewards: Map<string, [sum: number, count: number]>;
}

/** Limit of tasks in all resamples of a part, which are drawn without a pause. */
const DRAWS = 400_000;

/** Counts attempts by part. Those that have not started have none. */
export class PartTally {
  readonly #parts = new Map<string, PartSums>();

  add({ task, progress }: RolloutRow, { settlement, passed }: Attempt): void {
    const { part, reward } = progress;
    if (part === undefined) return;
    const known = this.#parts.get(part);
    const { share, rewards } = known ?? {
      share: { attempts: 0, scored: 0, passed: 0, tokens: 0 },
      rewards: new Map<string, [number, number]>(),
    };
    if (known === undefined) this.#parts.set(part, { share, rewards });
    share.attempts += 1;
    share.tokens += progress.input_tokens + progress.output_tokens;
    if (settlement !== 'scored') return;
    share.scored += 1;
    if (passed) share.passed += 1;
    if (typeof reward !== 'number') return;
    const [sum, count] = rewards.get(task) ?? [0, 0];
    rewards.set(task, [sum + reward, count + 1]);
  }

  /** Returns the parts by name. */
  *result(): Piecewise<Report['by_part']> {
    const found: Report['by_part'] = {};
    const inOrder = [...this.#parts].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
    for (const [name, { share, rewards }] of inOrder) {
      const sums = [...rewards.values()];
      const tasks = sums.map((values) => ({ tasks: 1, values }));
      const resamples = resamplesFor(tasks, DRAWS);
      const [interval = null] = resampledIntervals(sums, resamples, [([sum = 0, count = 0]) => meanOf(sum, count)]);
      yield;
      const count = sums.reduce((all, [, of]) => all + of, 0);
      found[name] = {
        ...share,
        mean: meanOf(
          sums.reduce((all, [sum]) => all + sum, 0),
          count,
        ),
        interval,
      };
    }
    return found;
  }
}

function meanOf(sum: number, count: number): number | null {
  return count === 0 ? null : sum / count;
}

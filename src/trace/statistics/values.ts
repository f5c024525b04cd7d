/** The means of what scores are worth, by level: of all attempts (micro), and of the levels (macro). */
import type { Attempt } from './outcomes.ts';
import type { Report } from './schema.ts';

interface Sum {
  sum: number;
  scored: number;
  missing: number;
}

export class ValueTally {
  readonly #all: Sum = { sum: 0, scored: 0, missing: 0 };
  readonly #levels = new Map<string, Sum>();
  #isGraded = false;

  /** `level`: of the attempt's task. `reward`: of its rollout. */
  add({ settlement }: Attempt, reward: number | null | undefined, level: string | number | undefined): void {
    if (settlement === 'open') return;
    const value = settlement === 'scored' && typeof reward === 'number' ? reward : undefined;
    if (value !== undefined && value !== 0 && value !== 1) this.#isGraded = true;
    count(this.#all, value);
    if (level === undefined) return;
    let own = this.#levels.get(String(level));
    if (own === undefined) this.#levels.set(String(level), (own = { sum: 0, scored: 0, missing: 0 }));
    count(own, value);
  }

  /** Returns null if every value is 0 or 1, unless a judge marked observations: pass rates say the same then. */
  result(judge: string | undefined): Report['value'] {
    if (!this.#isGraded && judge === undefined) return null;
    const inOrder = [...this.#levels].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
    const means = inOrder.flatMap(([, sum]) => meanOf(sum) ?? []);
    const { scored, missing } = this.#all;
    return {
      mean: meanOf(this.#all),
      macro: means.length === 0 ? null : means.reduce((sum, mean) => sum + mean, 0) / means.length,
      scored,
      missing,
      by_level: Object.fromEntries(
        inOrder.map(([name, sum]) => [name, { mean: meanOf(sum), scored: sum.scored, missing: sum.missing }]),
      ),
      judge: judge ?? null,
    };
  }
}

function count(sum: Sum, value: number | undefined): void {
  if (value === undefined) {
    sum.missing += 1;
    return;
  }
  sum.sum += value;
  sum.scored += 1;
}

function meanOf({ sum, scored }: Sum): number | null {
  return scored === 0 ? null : sum / scored;
}

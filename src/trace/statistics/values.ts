/** The means of what scores are worth, by level: of all attempts (micro), and of the levels (macro). */
import type { Progress } from '../summary.ts';
import type { Attempt } from './outcomes.ts';
import type { Report } from './schema.ts';

type Value = NonNullable<Report['value']>;

interface Sum {
  sum: number;
  scored: number;
  missing: number;
}

/** Of one mark. */
interface MarkSums {
  readonly all: Sum;
  readonly levels: Map<string, Sum>;
}

export class ValueTally {
  readonly #all = noSum();
  readonly #levels = new Map<string, Sum>();
  readonly #marks = new Map<string, MarkSums>();
  #isGraded = false;

  /** `level`: of the attempt's task. `progress`: of its rollout. */
  add({ settlement }: Attempt, { reward, marks }: Progress, level: string | number | undefined): void {
    if (settlement === 'open') return;
    const value = settlement === 'scored' && typeof reward === 'number' ? reward : undefined;
    if (value !== undefined && value !== 0 && value !== 1) this.#isGraded = true;
    count(this.#all, value);
    if (value !== undefined) for (const [name, mark] of Object.entries(marks ?? {})) this.#mark(name, mark, level);
    if (level === undefined) return;
    let own = this.#levels.get(String(level));
    if (own === undefined) this.#levels.set(String(level), (own = noSum()));
    count(own, value);
  }

  #mark(name: string, mark: number, level: string | number | undefined): void {
    let own = this.#marks.get(name);
    if (own === undefined) this.#marks.set(name, (own = { all: noSum(), levels: new Map() }));
    count(own.all, mark);
    if (level === undefined) return;
    const sum = own.levels.get(String(level)) ?? noSum();
    own.levels.set(String(level), sum);
    count(sum, mark);
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
      marks: marksOf(this.#marks),
      judge: judge ?? null,
    };
  }
}

function marksOf(marks: ReadonlyMap<string, MarkSums>): Value['marks'] {
  const inOrder = [...marks].sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    inOrder.map(([name, { all, levels }]) => [
      name,
      {
        mean: meanOf(all) ?? 0,
        scored: all.scored,
        by_level: Object.fromEntries(
          [...levels]
            .sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
            .map(([level, sum]) => [level, meanOf(sum) ?? 0]),
        ),
      },
    ]),
  );
}

function noSum(): Sum {
  return { sum: 0, scored: 0, missing: 0 };
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

/** pass@k and pass^k over tasks, as they stand in reports. */
import { intervalsOf, resamplesFor, type Interval } from './bootstrap.ts';
import { mean, passAll, passAt, type Counts } from './passRates.ts';

export interface PassTables {
  readonly pass_at: Record<string, number | null>;
  readonly tasks_at: Record<string, number>;
  readonly pass_all: Record<string, number | null>;
}

export interface PassIntervals {
  readonly pass_at: Record<string, Interval | null>;
  readonly pass_all: Record<string, Interval | null>;
}

export function passTables(counts: readonly Counts[], ks: readonly number[]): PassTables {
  const tables: PassTables = { pass_at: {}, tasks_at: {}, pass_all: {} };
  for (const k of ks) {
    const { at, all } = valuesAt(counts, k);
    tables.pass_at[k] = mean(at);
    tables.tasks_at[k] = at.length;
    tables.pass_all[k] = mean(all);
  }
  return tables;
}

export function passIntervals(counts: readonly Counts[], ks: readonly number[]): PassIntervals {
  const tables: PassIntervals = { pass_at: {}, pass_all: {} };
  const resamples = resamplesFor(counts.length);
  for (const k of ks) {
    const { at, all } = valuesAt(counts, k);
    const [forAt, forAll] = intervalsOf([at, all], resamples);
    tables.pass_at[k] = forAt ?? null;
    tables.pass_all[k] = forAll ?? null;
  }
  return tables;
}

/** One value per task with at least k scored attempts. */
function valuesAt(counts: readonly Counts[], k: number): { at: number[]; all: number[] } {
  const at: number[] = [];
  const all: number[] = [];
  for (const count of counts) {
    const any = passAt(count, k);
    const every = passAll(count, k);
    if (any === null || every === null) continue;
    at.push(any);
    all.push(every);
  }
  return { at, all };
}

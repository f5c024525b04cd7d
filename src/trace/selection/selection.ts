/**
 * The selection of attempts, the same for every export: which attempts are taken, and why the others are left out. It
 * depends on the attempts alone, so it is the same on each run and each machine.
 */
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { seedOf } from '../../common/hash.ts';
import { stalenessOf } from '../groups/staleness.ts';
import { countNameOf, OUTCOMES, outcomeOf } from '../outcome.ts';
import { rowEnvironment } from '../query/environment.ts';
import { compileCondition, type Query } from '../query.ts';
import type { RolloutRow } from '../summary.ts';
import type { TaskRecord } from '../task.ts';

const share = z.number().min(0).max(1);

export const SPLIT_PARTS = ['train', 'test'] as const;

export const selection = z.strictObject({
  /** Absent: all attempts that have ended. */
  outcomes: z.array(z.enum(OUTCOMES)).min(1).optional(),
  /** Both ends inclusive. An attempt without a reward is in no range. */
  reward: z.strictObject({ min: z.number().optional(), max: z.number().optional() }).optional(),
  /** Share of the scored attempts of its task, in its batch, that passed: both ends exclusive. */
  rate: z.strictObject({ above: share.optional(), below: share.optional() }).optional(),
  /** A condition in CEL over the rollout. */
  where: z.string().optional(),
  /** Maximum number of attempts of a task, in all batches together. */
  per_task: z.int().min(1).optional(),
  /** One attempt of each set with equal trajectories of a task, in all batches together. */
  distinct: z.literal(true).optional(),
  /**
   * Divides tasks by their IDs alone, so a task is in the same part in every batch. `share`: that of the part `test`,
   * which each task has the same chance to be in.
   */
  split: z.strictObject({ seed: z.int(), share, part: z.enum(SPLIT_PARTS) }).optional(),
  /** Attempts whose weights are at most so many versions behind this one, if their versions are known. */
  weights: z.strictObject({ version: z.int().min(0), max_versions: z.int().min(0) }).optional(),
  /** Also members of groups that others replaced: the trainer never got them. */
  replaced: z.literal(true).optional(),
});
export type Selection = z.infer<typeof selection>;

/** Why an attempt is left out: the first of these that applies. */
export const LEFT_OUT = [
  'running',
  'replaced',
  'split',
  'rate',
  'outcome',
  'reward',
  'stale',
  'where',
  'undecided',
  'distinct',
  'per_task',
] as const;
export type LeftOut = (typeof LEFT_OUT)[number];

/** Reasons as people read them: “3 attempts left out: …”. */
export const LEFT_OUT_TEXT: Readonly<Record<LeftOut, string>> = {
  running: 'not ended yet',
  replaced: 'others took their places in their group, because their weights were too old',
  split: 'in the other part of the split',
  rate: 'the pass rate of their task',
  outcome: 'their outcome',
  reward: 'their reward',
  stale: 'their weights are too old',
  where: 'the condition',
  undecided: 'the condition could not be evaluated',
  distinct: 'equal to another attempt of their task',
  per_task: 'their task has enough',
};

export interface SelectedFrom {
  readonly row: RolloutRow;
  /** Needed for conditions on `task`. */
  readonly task?: TaskRecord | undefined;
}

export interface Selected<A> {
  /** In the order of the attempts. */
  readonly taken: readonly A[];
  /** Number of attempts by reason; those without an attempt are absent. */
  readonly left_out: Readonly<Partial<Record<LeftOut, number>>>;
}

/**
 * Selects attempts. The order decides which attempts of a task stay: pass them by batch, task, and number. Throws
 * StudioError `usage` for an invalid condition.
 */
export function selectAttempts<A extends SelectedFrom>(attempts: readonly A[], by: Selection): Selected<A> {
  const condition = by.where === undefined ? undefined : conditionOf(by.where);
  const rates = by.rate === undefined ? undefined : passRates(attempts.filter(({ row }) => !isReplaced(row, by)));
  const seen = new Set<string>();
  const perTask = new Map<string, number>();
  const leftOut: Partial<Record<LeftOut, number>> = {};
  const taken = attempts.filter((attempt) => {
    const { row } = attempt;
    const why = whyNot(attempt, by, condition, rates?.get(groupOf(row))) ?? repeated(row);
    if (why === undefined) return true;
    leftOut[why] = (leftOut[why] ?? 0) + 1;
    return false;
  });
  return { taken, left_out: Object.fromEntries(LEFT_OUT.flatMap((why) => countOf(why, leftOut[why]))) };

  function repeated({ task, progress: { fingerprint } }: RolloutRow): LeftOut | undefined {
    if (by.distinct === true && fingerprint !== undefined) {
      const key = JSON.stringify([task, fingerprint]);
      if (seen.has(key)) return 'distinct';
      seen.add(key);
    }
    if (by.per_task === undefined) return undefined;
    const count = perTask.get(task) ?? 0;
    if (count >= by.per_task) return 'per_task';
    perTask.set(task, count + 1);
    return undefined;
  }
}

/** Returns whether a selection reads tasks. Throws StudioError `usage` for an invalid condition. */
export function needsTasks({ where }: Selection): boolean {
  return where !== undefined && conditionOf(where).variables.has('task');
}

/** Returns the ID of the group of an attempt: the attempts of its task in its batch. */
export function groupOf({ batch, task }: Pick<RolloutRow, 'batch' | 'task'>): string {
  return `${batch}/${task}`;
}

/** Returns the part that a task is in. */
export function splitPartOf(
  task: string,
  { seed, share: testShare }: Omit<NonNullable<Selection['split']>, 'part'>,
): (typeof SPLIT_PARTS)[number] {
  return seedOf('split', seed, task) / 2 ** 32 < testShare ? 'test' : 'train';
}

function whyNot(
  attempt: SelectedFrom,
  by: Selection,
  condition: Query | undefined,
  passRate: number | undefined,
): LeftOut | undefined {
  const { row, task } = attempt;
  const { outcomes, reward, rate, split, weights } = by;
  if (row.state !== 'ended' && outcomes === undefined) return 'running';
  if (isReplaced(row, by)) return 'replaced';
  if (split !== undefined && splitPartOf(row.task, split) !== split.part) return 'split';
  if (rate !== undefined) {
    if (passRate === undefined) return 'rate';
    if (passRate <= (rate.above ?? -Infinity) || passRate >= (rate.below ?? Infinity)) return 'rate';
  }
  if (outcomes !== undefined && !outcomes.includes(outcomeOf(row)))
    return row.state === 'ended' ? 'outcome' : 'running';
  if (reward !== undefined) {
    const value = row.progress.reward;
    if (typeof value !== 'number' || !Number.isFinite(value)) return 'reward';
    if (value < (reward.min ?? -Infinity) || value > (reward.max ?? Infinity)) return 'reward';
  }
  if (weights !== undefined && isStale(row, weights)) return 'stale';
  if (condition === undefined) return undefined;
  const match = condition.matches(rowEnvironment(row, task));
  if (match.matched) return undefined;
  return match.why === undefined ? 'where' : 'undecided';
}

function isReplaced({ progress }: RolloutRow, by: Selection): boolean {
  return progress.replaced === true && by.replaced !== true;
}

function isStale({ progress }: RolloutRow, { version, max_versions }: NonNullable<Selection['weights']>): boolean {
  const ranges = Object.values(progress.weights ?? {}).map((weights) => ({ weights }));
  return stalenessOf(ranges, () => version, { max_versions }).stale.length > 0;
}

/** Variables that only events have. */
const OF_EVENTS = ['event', 'tool', 'message', 'observation', 'agent', 'side'];

function conditionOf(text: string): Query {
  const query = compileCondition(text);
  const wrong = OF_EVENTS.find((name) => query.variables.has(name));
  if (wrong !== undefined)
    throw new StudioError('usage', `A condition on attempts cannot use ${wrong}.`, {
      hint: 'Use task, attempt, step, usage, world, reward, verdicts, or status.',
    });
  return query;
}

/** Returns the pass rates of groups with scored attempts. */
function passRates(attempts: readonly SelectedFrom[]): ReadonlyMap<string, number> {
  const counts = new Map<string, { scored: number; passed: number }>();
  for (const { row } of attempts) {
    const counted = countNameOf(row);
    if (counted !== 'passed' && counted !== 'failed') continue;
    const group = groupOf(row);
    const count = counts.get(group) ?? { scored: 0, passed: 0 };
    counts.set(group, count);
    count.scored++;
    if (counted === 'passed') count.passed++;
  }
  return new Map([...counts].map(([group, { scored, passed }]) => [group, passed / scored]));
}

function countOf(why: LeftOut, count: number | undefined): [LeftOut, number][] {
  return count === undefined ? [] : [[why, count]];
}

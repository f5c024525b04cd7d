/** What the settings that stop single tasks saved: the budget of a task, and the band of a curriculum that moves. */
import { each, type Piecewise } from '../../common/piecewise.ts';
import type { RolloutRow } from '../summary.ts';
import type { Report } from './schema.ts';

/** Settings by which tasks begin no more attempts. The reasons of attempts that ended so begin with them. */
export const CLOSED_BY = {
  tokens: 'stop.tokens_per_task',
  cost: 'stop.cost_per_task',
  band: 'curriculum.keep',
} as const;

/** What the attempts of a task may use: tokens, and cost. At least one of them is set. */
export interface TaskBudget {
  readonly tokens?: number | undefined;
  readonly cost?: number | undefined;
}

interface ControlsInput {
  /** Rows that count for their attempts. */
  readonly counting: Iterable<RolloutRow>;
  /** All rows: also those of tries that do not count. */
  readonly rows: Iterable<RolloutRow>;
  readonly budget?: TaskBudget | undefined;
  readonly curriculum?: Report['curriculum'] | undefined;
  /** By ID of a task that is a group: the ID of the dataset's task that it repeats. */
  readonly repeated?: ReadonlyMap<string, string> | undefined;
}

interface Sums {
  tokens: number;
  cost: number;
  queued: number;
}

/** Computes the figures of the budget by task and of the curriculum; null without the setting. */
export function* controlFigures({
  counting,
  rows,
  budget,
  curriculum = null,
  repeated,
}: ControlsInput): Piecewise<Pick<Report, 'budget' | 'curriculum'>> {
  if (budget === undefined && curriculum === null) return { budget: null, curriculum: null };
  const sums = new Map<string, Sums>();
  const sumsOf = ({ task }: RolloutRow): Sums => {
    const name = repeated?.get(task) ?? task;
    let own = sums.get(name);
    if (own === undefined) sums.set(name, (own = { tokens: 0, cost: 0, queued: 0 }));
    return own;
  };
  yield* each(rows, (row) => {
    const own = sumsOf(row);
    const { input_tokens: input, output_tokens: output, cost = 0, side } = row.progress;
    own.tokens += input + output + (side?.input_tokens ?? 0) + (side?.output_tokens ?? 0);
    own.cost += cost + (side?.cost ?? 0);
  });
  const closed = { band: 0, budget: 0 };
  yield* each(counting, (row) => {
    if (row.state === 'queued' && row.try === 1) sumsOf(row).queued += 1;
    const by = row.state === 'ended' && row.progress.status === 'cancelled' ? row.progress.error_message : undefined;
    if (by === undefined) return;
    if (by.startsWith(CLOSED_BY.band)) closed.band += 1;
    else if (by.startsWith(CLOSED_BY.tokens) || by.startsWith(CLOSED_BY.cost)) closed.budget += 1;
  });
  return {
    budget: budget === undefined ? null : budgetFigures(budget, [...sums.values()], closed.budget),
    curriculum: curriculum?.outside === undefined ? curriculum : { ...curriculum, not_begun: closed.band },
  };
}

function budgetFigures(
  { tokens, cost }: TaskBudget,
  tasks: readonly Sums[],
  ended: number,
): NonNullable<Report['budget']> {
  const spent = tasks.filter((one) => one.tokens >= (tokens ?? Infinity) || one.cost >= (cost ?? Infinity));
  const left = (of: 'tokens' | 'cost', limit: number | undefined): number | null =>
    limit === undefined ? null : tasks.reduce((sum, one) => sum + Math.max(0, limit - one[of]), 0);
  return {
    tokens: tokens ?? null,
    cost: cost ?? null,
    spent: spent.length,
    of: tasks.length,
    not_begun: spent.reduce((sum, { queued }) => sum + queued, ended),
    unspent: { tokens: left('tokens', tokens), cost: left('cost', cost) },
  };
}

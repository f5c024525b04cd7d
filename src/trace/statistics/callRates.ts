/**
 * How well agents called their tools in two batches with the same tasks, such as with and without look-ahead.
 *
 * - Tool success: the share of calls that succeeded.
 * - Parameter accuracy: the share of calls with right parameters. They must be valid by the schema of the tool and, if
 *   there are references for it, equal to those of a reference. References are the calls that succeeded in other
 *   attempts that passed the task, in either batch: both batches are compared with the same ones, and no attempt with
 *   itself. Arguments are equal as JSON. Whether the tool was the right one does not matter.
 *
 * Both are figures of MCP-Cosmos (arXiv:2605.09131). Calls are right as in the AST check of the Berkeley Function
 * Calling Leaderboard: all arguments fit the schema and one of the possible answers.
 *
 * The share of a task is that of the calls of all its attempts. Like pass@k, rates are means over the tasks,
 * differences are paired by task, and intervals resample tasks.
 */
import { finish } from '../../common/piecewise.ts';
import type { CalledTool, CalledTools } from '../schema/calls.ts';
import { intervalsOf, methodText, resamplesFor } from './bootstrap.ts';
import type { Attempt } from './outcomes.ts';
import { weightedMean } from './passTables.ts';
import type { CallCounts, Comparison, Report } from './schema.ts';

/** Attempts with calls that ended. */
type Calling = Attempt & { readonly calls: CalledTools };

/** Adds the calls of an attempt to those of others. */
export function addCalls(sums: Report['calls'], calls: CalledTools): NonNullable<Report['calls']> {
  let { made, succeeded, valid } = sums ?? { made: 0, succeeded: 0, valid: 0 };
  for (const { succeeded: good = [], failed: bad = [], invalid = 0, more } of Object.values(calls)) {
    const allGood = good.length + (more?.succeeded ?? 0);
    const allValid = allGood + bad.length + (more?.failed ?? 0);
    made += allValid + invalid;
    succeeded += allGood;
    valid += allValid;
  }
  return { made, succeeded, valid };
}

/** Compares the calls of the tasks in which both batches made some. A text says why there is nothing to compare. */
export function compareCalls(
  here: readonly Attempt[],
  baseline: readonly Attempt[],
): NonNullable<Comparison['calls']> | string {
  const sides = [here, baseline].map((attempts) => attempts.filter(hasCalls));
  if (sides.some((attempts) => attempts.length === 0)) return 'a batch has no recorded calls of agents';
  const [own, others] = sides.map((attempts) => Map.groupBy(attempts, ({ task }) => task));
  const shared = [...(own ?? [])].flatMap(([task, attempts]) => {
    const before = others?.get(task);
    if (before === undefined) return [];
    const references = new References([...attempts, ...before]);
    return [{ task, here: countCalls(attempts, references), baseline: countCalls(before, references) }];
  });
  if (shared.length === 0) return 'the batches have no task in common in which both made calls';
  shared.sort((a, b) => (a.task < b.task ? -1 : 1)); // the order of rows does not matter
  const rates = (['succeeded', 'right'] as const).map((part) =>
    shared.map((task) => ({ here: shareOf(task.here, part), baseline: shareOf(task.baseline, part) })),
  );
  const groups = shared.map((_, at) => ({
    tasks: 1,
    values: rates.map((of) => (of[at]?.here ?? 0) - (of[at]?.baseline ?? 0)),
  }));
  const resamples = resamplesFor(groups);
  const intervals = finish(intervalsOf(groups, resamples));
  const differenceOf = (part: 0 | 1): NonNullable<Comparison['calls']>['tool_success'] => {
    const mean = (side: 'here' | 'baseline'): number =>
      weightedMean((rates[part] ?? []).map((of) => ({ tasks: 1, value: of[side] }))) ?? 0;
    const means = { here: mean('here'), baseline: mean('baseline') };
    return {
      ...means,
      difference: means.here - means.baseline,
      interval: intervals[part] ?? null,
      tasks: shared.length,
    };
  };
  return {
    here: shared.map((task) => task.here).reduce(sumOf),
    baseline: shared.map((task) => task.baseline).reduce(sumOf),
    tool_success: differenceOf(0),
    parameter_accuracy: differenceOf(1),
    method: methodText(resamples),
  };
}

function hasCalls(attempt: Attempt): attempt is Calling {
  return attempt.calls !== undefined && Object.keys(attempt.calls).length > 0;
}

/** The arguments with which each tool was called successfully in the attempts that passed a task. */
class References {
  /** By tool: how many attempts have some, and by hash how many have these arguments. */
  readonly #tools = new Map<string, { attempts: number; readonly byHash: Map<number, number> }>();

  constructor(attempts: readonly Calling[]) {
    for (const { passed, calls } of attempts) {
      if (!passed) continue;
      for (const [tool, { succeeded }] of Object.entries(calls)) {
        if (succeeded === undefined) continue;
        let known = this.#tools.get(tool);
        if (known === undefined) this.#tools.set(tool, (known = { attempts: 0, byHash: new Map() }));
        known.attempts += 1;
        for (const hash of new Set(succeeded)) known.byHash.set(hash, (known.byHash.get(hash) ?? 0) + 1);
      }
    }
  }

  /** Returns whether these arguments equal a reference of another attempt; undefined if it has none for the tool. */
  equals(name: string, hash: number, own: ReadonlySet<number> | undefined): boolean | undefined {
    const known = this.#tools.get(name);
    if (known === undefined || known.attempts === (own === undefined ? 0 : 1)) return undefined;
    return (known.byHash.get(hash) ?? 0) > (own?.has(hash) === true ? 1 : 0);
  }
}

function countCalls(attempts: readonly Calling[], references: References): CallCounts {
  const counts = { compared: 0, right: 0 };
  let ended: Report['calls'] = null;
  for (const { passed, calls } of attempts) {
    ended = addCalls(ended, calls);
    for (const [name, tool] of Object.entries(calls)) {
      const own = passed && tool.succeeded !== undefined ? new Set(tool.succeeded) : undefined;
      counts.right += (tool.more?.succeeded ?? 0) + (tool.more?.failed ?? 0);
      for (const hash of listed(tool)) {
        const isEqual = references.equals(name, hash, own);
        if (isEqual !== undefined) counts.compared += 1;
        if (isEqual !== false) counts.right += 1;
      }
    }
  }
  return { made: 0, succeeded: 0, valid: 0, ...ended, ...counts };
}

function listed({ succeeded = [], failed = [] }: CalledTool): number[] {
  return [...succeeded, ...failed];
}

function shareOf(counts: CallCounts, part: 'succeeded' | 'right'): number {
  return counts[part] / counts.made;
}

function sumOf(a: CallCounts, b: CallCounts): CallCounts {
  return {
    made: a.made + b.made,
    succeeded: a.succeeded + b.succeeded,
    valid: a.valid + b.valid,
    compared: a.compared + b.compared,
    right: a.right + b.right,
  };
}

/** Finds the tasks of a batch whose failures all blame their world, from the recorded attempts. */
import { finish } from '../../common/piecewise.ts';
import type { Api } from '../../protocol/api.ts';
import { TrajectoryModel } from '../../trace/model.ts';
import { attemptRows } from '../../trace/statistics/outcomes.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { type RunOfTask, type TaskSetAside, tasksToSetAside } from '../../trace/toolCalls/blame.ts';
import { callFacts } from '../../trace/toolCalls/fact.ts';
import { readEvent } from '../../trace/upgrades.ts';

interface RunFilter {
  readonly setAside: readonly TaskSetAside[];
  /** The other tasks, in their order. */
  readonly kept: readonly string[];
}

/** Attempts that are read at the same time. */
const AT_ONCE = 4;

export async function filterByRuns(api: Api, batch: string, signal: AbortSignal): Promise<RunFilter> {
  const rows = finish(attemptRows(await Array.fromAsync(api.allRollouts(batch, { all: 1 }, signal))));
  const tasks = [...new Set(rows.map(({ task }) => task))];
  const solved = new Set(rows.filter(({ progress }) => progress.passed === true).map(({ task }) => task));
  const failed = rows.filter(({ task }) => !solved.has(task));
  const runs: RunOfTask[] = [];
  for (let from = 0; from < failed.length; from += AT_ONCE)
    runs.push(...(await Promise.all(failed.slice(from, from + AT_ONCE).map((row) => readRun(api, row, signal)))));
  const setAside = tasksToSetAside(runs);
  const gone = new Set(setAside.map(({ task }) => task));
  return { setAside, kept: tasks.filter((task) => !gone.has(task)) };
}

async function readRun(api: Api, { rollout, task, progress }: RolloutRow, signal: AbortSignal): Promise<RunOfTask> {
  const model = new TrajectoryModel();
  for await (const events of api.allEvents(rollout, signal)) model.push(events.map((event) => readEvent(event)));
  const calls = callFacts(model, rollout);
  return { task, passed: progress.passed ?? null, errorClass: progress.error_class ?? undefined, calls };
}

/** Applies the curriculum of a batch file: reads the pass rates of an earlier batch, and selects tasks. */
import { StudioError } from '../common/errors.ts';
import { finish } from '../common/piecewise.ts';
import type { CurriculumSection } from '../config/schema/curriculumSection.ts';
import type { Api } from '../protocol/api.ts';
import type { CreateBatch } from '../protocol/client.ts';
import { countNameOf } from '../trace/outcome.ts';
import { selectTasks, type TaskRate } from '../trace/selection/curriculum.ts';
import { attemptRows } from '../trace/statistics/outcomes.ts';
import type { TaskRecord } from '../trace/task.ts';
import { resolveBatch } from './reference.ts';
import { curriculumText } from './text/curriculumText.ts';

export interface Curriculum {
  readonly tasks: readonly TaskRecord[];
  /** What the batch remembers of it. */
  readonly curriculum: NonNullable<CreateBatch['curriculum']>;
  /** Pass rates of its tasks, if they are counted again later. */
  readonly rates?: NonNullable<CreateBatch['rates']>;
  /** What its page says. */
  readonly note: string;
}

/** Selects tasks. Throws StudioError `config` if none is left. */
export async function applyCurriculum(
  { by, refresh, ...rule }: CurriculumSection,
  tasks: AsyncIterable<TaskRecord>,
  api: Api,
  signal: AbortSignal,
): Promise<Curriculum> {
  const batch = await resolveBatch(api, by, signal);
  const rates = await taskRates(api, batch, signal);
  const { tasks: kept, counts } = selectTasks(await Array.fromAsync(tasks), rates, rule);
  const curriculum = {
    by: batch,
    ...counts,
    ...(refresh === undefined || rule.keep === undefined ? {} : { keep: rule.keep, refresh }),
  };
  const note = curriculumText(curriculum);
  if (kept.length === 0)
    throw new StudioError('config', `The curriculum leaves no task: ${note}.`, { hint: 'Widen `curriculum.keep`.' });
  return {
    tasks: kept,
    curriculum,
    ...(refresh === undefined ? {} : { rates: Object.fromEntries(kept.flatMap(({ id }) => entryOf(id, rates))) }),
    note: `Curriculum: ${note}.`,
  };
}

function entryOf(id: string, rates: ReadonlyMap<string, TaskRate>): [string, TaskRate][] {
  const rate = rates.get(id);
  return rate === undefined ? [] : [[id, rate]];
}

/** Returns the pass rates of a batch by tasks of its dataset; those without scored attempts are absent. */
export async function taskRates(api: Api, batch: string, signal: AbortSignal): Promise<Map<string, TaskRate>> {
  const row = await api.batch(batch, signal);
  const taskOf = new Map<string, string>();
  if (row.groups !== undefined)
    for await (const { group, task } of api.allGroups(batch, signal)) taskOf.set(group, task);
  const rates = new Map<string, { passed: number; scored: number }>();
  const rows = await Array.fromAsync(api.allRollouts(batch, { all: 1 }, signal));
  for (const attempt of finish(attemptRows(rows))) {
    const counted = countNameOf(attempt);
    if (counted !== 'passed' && counted !== 'failed') continue;
    const task = taskOf.get(attempt.task) ?? attempt.task;
    const rate = rates.get(task) ?? { passed: 0, scored: 0 };
    rates.set(task, rate);
    rate.scored += 1;
    if (counted === 'passed') rate.passed += 1;
  }
  return rates;
}

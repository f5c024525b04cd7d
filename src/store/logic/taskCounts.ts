/**
 * Counts by task of the dataset, for batches whose curriculum is refreshed (`curriculum.refresh`) and batches with a
 * budget by task (`stop.tokens_per_task`, `stop.cost_per_task`). All groups that repeat a task count together.
 */
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { costText, percent } from '../../common/units.ts';
import { type CurriculumRule, placeInBand, type TaskRate } from '../../trace/selection/curriculum.ts';
import { CLOSED_BY } from '../../trace/statistics/controls.ts';
import { datasetId } from '../../trace/task.ts';
import { int, intOr, quote, text, unquote } from '../sql/row.ts';
import { TASK_COUNT } from '../sql/schema.ts';
import type { Reader, Row, Transaction } from '../sql/sql.ts';
import type { NewBatch, UnneededTask } from '../store.ts';
import type { Batch } from './batchState.ts';
import { addBatchEvent } from './events.ts';
import type { Group } from './groups/groupState.ts';

/** Values of `task_count.closed`: whether no attempt of the task begins any more, and why. */
const OPEN = 0;
const OUTSIDE = 1;
const SPENT = 2;

/** Condition: attempts of the task of a rollout may begin. Its value is the ID of the batch. */
export const MAY_BEGIN =
  'task NOT IN (SELECT task FROM task_count WHERE batch = ? AND closed > 0 AND task IS NOT NULL)';

type Rules = Pick<NewBatch, 'task_tokens' | 'task_cost' | 'curriculum'>;

/** Costs are stored in millionths. */
const MILLION = 1e6;

/** Whether the tasks of a batch are counted. */
function isCounted({ task_tokens: tokens, task_cost: cost, curriculum }: Rules): boolean {
  return tokens !== undefined || cost !== undefined || curriculum?.refresh !== undefined;
}

/** Remembers the pass rates that new tasks of a batch have in its curriculum. `from`: index of the first one. */
export async function addTaskRates(
  tx: Transaction,
  { id, spec }: Batch,
  from: number,
  tasks: readonly string[],
  rates: Readonly<Record<string, TaskRate>>,
): Promise<void> {
  if (spec.curriculum?.refresh === undefined) return;
  const rows = tasks.flatMap((name, index) => {
    const rate = Object.hasOwn(rates, name) ? rates[name] : undefined;
    const task = spec.group === undefined ? from + index : null;
    return rate === undefined ? [] : [[id, quote(name), task, rate.passed, rate.scored]];
  });
  if (rows.length > 0) await tx.insert(TASK_COUNT, ['batch', 'name', 'task', 'passed', 'scored'], rows, 'ignore');
}

/** What attempts used. `cost`: in millionths. */
interface Used {
  tokens: number;
  cost: number;
}

interface Added extends Used {
  passed: number;
  scored: number;
}

/** The counts that a transaction changes. */
export class TaskCounts {
  readonly #tx: Transaction;
  /** By the index of the task of the rollouts. */
  readonly #added = new Map<Batch, Map<number, Added>>();

  constructor(tx: Transaction) {
    this.#tx = tx;
  }

  /** Adds a settled attempt. */
  settled(batch: Batch, task: number, name: 'passed' | 'failed'): void {
    const added = this.#of(batch, task);
    if (added === undefined) return;
    added.scored += 1;
    if (name === 'passed') added.passed += 1;
  }

  used(batch: Batch, task: number, { tokens, cost }: Readonly<Used>): void {
    const added = tokens === 0 && cost === 0 ? undefined : this.#of(batch, task);
    if (added === undefined) return;
    added.tokens += tokens;
    added.cost += cost;
  }

  #of(batch: Batch, task: number): Added | undefined {
    if (!isCounted(batch.spec)) return undefined;
    const tasks = this.#added.get(batch) ?? new Map<number, Added>();
    this.#added.set(batch, tasks);
    const added = tasks.get(task) ?? { passed: 0, scored: 0, tokens: 0, cost: 0 };
    tasks.set(task, added);
    return added;
  }

  /**
   * Saves the counts, and moves the bands that are due. The counters of the batches are up to date. Returns the indices
   * of tasks without groups that are in the band again, by batch.
   */
  async save(groupOf: (batch: Batch, task: number) => Group | undefined): Promise<Map<Batch, number[]>> {
    const back = new Map<Batch, number[]>();
    for (const [batch, tasks] of this.#added) {
      await this.#add(batch, tasks, groupOf);
      const scored = [...tasks.values()].reduce((sum, added) => sum + added.scored, 0);
      const isDue = isRefreshed(batch, scored) || (batch.outside > 0 && !(await canContinue(this.#tx, batch)));
      if (isDue) back.set(batch, await this.#refresh(batch));
    }
    this.#added.clear();
    return back;
  }

  async #add(
    batch: Batch,
    tasks: ReadonlyMap<number, Added>,
    groupOf: (batch: Batch, task: number) => Group | undefined,
  ): Promise<void> {
    const names = await namesOf(this.#tx, batch, [...tasks.keys()], groupOf);
    const sums = new Map<string, Added & { task: number | null }>();
    for (const [task, { passed, scored, tokens, cost }] of tasks) {
      const name = names.get(task);
      if (name === undefined) continue; // its batch is being removed
      const sum = sums.get(name) ?? {
        passed: 0,
        scored: 0,
        tokens: 0,
        cost: 0,
        task: batch.spec.group === undefined ? task : null,
      };
      sums.set(name, sum);
      sum.passed += passed;
      sum.scored += scored;
      sum.tokens += tokens;
      sum.cost += cost;
    }
    await this.#tx.insert(
      TASK_COUNT,
      ['batch', 'name', 'task'],
      Array.from(sums, ([name, { task }]) => [batch.id, name, task]),
      'ignore',
    );
    for (const [name, { passed, scored, tokens, cost }] of sums) {
      const row = await this.#tx.get(
        'UPDATE task_count SET passed = passed + ?, scored = scored + ?, attempts = attempts + ?, ' +
          'tokens = tokens + ?, cost = cost + ? WHERE batch = ? AND name = ? RETURNING closed, attempts, tokens, cost',
        passed,
        scored,
        scored,
        tokens,
        cost,
        batch.id,
        name,
      );
      if (row === undefined) continue;
      const isOutside = int(row, 'closed') === OUTSIDE;
      if (isOutside) batch.outside_attempts += scored;
      if (int(row, 'closed') === SPENT || spentOf(row, batch.spec) === undefined) continue;
      if (isOutside) {
        batch.outside -= 1;
        batch.outside_attempts -= int(row, 'attempts');
      }
      batch.spent += 1;
      await this.#close(batch, name, SPENT);
    }
  }

  /** Moves the band: closes tasks that left it, and opens those that are back. Returns the indices of the latter. */
  async #refresh(batch: Batch): Promise<number[]> {
    const { curriculum } = batch.spec;
    if (curriculum?.keep === undefined) return [];
    const rows = await this.#tx.all(
      'SELECT name, task, passed, scored, attempts, closed FROM task_count WHERE batch = ? AND scored > 0 AND ' +
        'closed < 2 ORDER BY name',
      batch.id,
    );
    const left = { too_hard: 0, too_easy: 0 };
    const back: Row[] = [];
    for (const row of rows) {
      const place = placeInBand(rateIn(row), curriculum);
      const [before, now] = [int(row, 'closed'), place === 'kept' ? OPEN : OUTSIDE];
      if (before === now) continue;
      const sign = now === OUTSIDE ? 1 : -1;
      batch.outside += sign;
      batch.outside_attempts += sign * int(row, 'attempts');
      if (place === 'kept') back.push(row);
      else left[place] += 1;
      await this.#close(batch, text(row, 'name'), now);
    }
    const changes = [
      ...(left.too_hard > 0 ? [`${left.too_hard} too hard`] : []),
      ...(left.too_easy > 0 ? [`${left.too_easy} too easy`] : []),
      ...(back.length > 0 ? [`${back.length} back`] : []),
    ];
    if (changes.length > 0) {
      batch.moves += 1;
      const now = `${plural(batch.outside, 'task')} outside ${bandText(curriculum)} now`;
      const note = `Curriculum: ${changes.join(', ')}; ${now}.`;
      await addBatchEvent(this.#tx, batch, 'infra', { what: 'note', text: note });
    }
    return back.flatMap((row) => intOr(row, 'task', null) ?? []);
  }

  async #close(batch: Batch, name: string, closed: number): Promise<void> {
    await this.#tx.run('UPDATE task_count SET closed = ? WHERE batch = ? AND name = ?', closed, batch.id, name);
  }
}

/** Whether the last `scored` attempts of a batch made its curriculum due: it is after each `refresh` scored ones. */
function isRefreshed({ spec, counts }: Batch, scored: number): boolean {
  const { refresh } = spec.curriculum ?? {};
  if (refresh === undefined) return false;
  const now = counts.passed + counts.failed;
  return Math.floor(now / refresh) > Math.floor((now - scored) / refresh);
}

/** Whether an attempt runs, or waits that may begin. */
async function canContinue(db: Reader, { id, counts }: Batch): Promise<boolean> {
  if (counts.running + counts.held > 0) return true;
  const row = await db.get(`SELECT 1 AS n FROM rollout WHERE batch = ? AND state = 0 AND ${MAY_BEGIN} LIMIT 1`, id, id);
  return row !== undefined;
}

/** Returns the names of the dataset's tasks, as they are stored. */
async function namesOf(
  tx: Transaction,
  batch: Batch,
  tasks: readonly number[],
  groupOf: (batch: Batch, task: number) => Group | undefined,
): Promise<ReadonlyMap<number, string>> {
  if (batch.spec.group !== undefined)
    return new Map(
      tasks.flatMap((task) => {
        const group = groupOf(batch, task);
        return group === undefined ? [] : [[task, quote(taskOf(group))] as const];
      }),
    );
  const rows = await tx.all(`SELECT idx, name FROM task WHERE batch = ? AND ${tx.dialect.anyInt('idx')}`, batch.id, [
    ...tasks,
  ]);
  return new Map(rows.map((row) => [int(row, 'idx'), text(row, 'name')]));
}

/** Returns the ID of the dataset's task that a group repeats. */
export function taskOf({ request: { task } }: { readonly request: Pick<Group['request'], 'task'> }): string {
  return typeof task === 'string' ? task : datasetId(task);
}

/** Returns those of some tasks (by index) of which no attempt may begin. */
export async function closedTasks(db: Reader, batch: Batch, tasks: Iterable<number>): Promise<ReadonlySet<number>> {
  if (!isCounted(batch.spec)) return new Set();
  const rows = await db.all(
    `SELECT task FROM task_count WHERE batch = ? AND closed > 0 AND ${db.dialect.anyInt('task')}`,
    batch.id,
    [...tasks],
  );
  return new Set(rows.map((row) => int(row, 'task')));
}

/** Returns why no group of some tasks of the dataset may begin, by the task's ID. */
export async function refusedTasks(
  db: Reader,
  { id, name, spec }: Batch,
  tasks: readonly string[],
): Promise<ReadonlyMap<string, StudioError>> {
  if (!isCounted(spec) || tasks.length === 0) return new Map();
  const rows = await db.all(
    'SELECT name, passed, scored, tokens, cost, closed FROM task_count WHERE batch = ? AND closed > 0 AND ' +
      db.dialect.anyText('name'),
    id,
    [...new Set(tasks)].map(quote),
  );
  return new Map(
    rows.map((row) => {
      const task = unquote(text(row, 'name'));
      const isOutside = int(row, 'closed') === OUTSIDE;
      const message = `Batch ${name} begins no more groups of task ${JSON.stringify(task)}. ${whyClosed(row, spec)}`;
      const hint = isOutside
        ? 'Request another task. This one may be requested again if its pass rate is in the band again.'
        : 'Request another task.';
      return [task, new StudioError('conflict', message, { hint, details: { closed: isOutside ? 'band' : 'budget' } })];
    }),
  );
}

/** Returns the tasks whose queued attempts nothing will begin, and why. */
export async function unneededTasks(db: Reader, batch: Batch): Promise<UnneededTask[]> {
  const { id, spec } = batch;
  if (!isCounted(spec)) return [];
  // A task that is outside may come back as long as something of it runs.
  const closed = batch.outside > 0 && !(await canContinue(db, batch)) ? OUTSIDE : SPENT;
  if (closed === SPENT && batch.spent === 0) return [];
  if (spec.group === undefined) {
    const rows = await db.all(
      `SELECT c.name AS name, c.passed AS passed, c.scored AS scored, c.tokens AS tokens, c.cost AS cost,
         c.closed AS closed
       FROM task_count c JOIN task t ON t.batch = c.batch AND t.idx = c.task
       WHERE c.batch = ? AND c.closed >= ? AND t.open > 0 ORDER BY c.task`,
      id,
      closed,
    );
    return rows.map((row) => ({ task: unquote(text(row, 'name')), why: whyClosed(row, spec) }));
  }
  const spent = new Map(
    (
      await db.all(
        'SELECT name, passed, scored, tokens, cost, closed FROM task_count WHERE batch = ? AND closed = 2',
        id,
      )
    ).map((row) => [unquote(text(row, 'name')), whyClosed(row, spec)]),
  );
  const groups = await db.all(
    'SELECT name, request FROM trainer_group WHERE batch = ? AND state = 0 ORDER BY task',
    id,
  );
  return groups.flatMap((row) => {
    const request = JSON.parse(text(row, 'request')) as Group['request']; // as the store wrote it
    const why = spent.get(taskOf({ request }));
    return why === undefined ? [] : [{ task: text(row, 'name'), why }];
  });
}

function rateIn(row: Row): TaskRate {
  return { passed: int(row, 'passed'), scored: int(row, 'scored') };
}

/** Returns which budget a task has used; undefined if it has something left. */
function spentOf(
  row: Row,
  { task_tokens: tokens = Infinity, task_cost: cost = Infinity }: Rules,
): 'tokens' | 'cost' | undefined {
  if (int(row, 'tokens') >= tokens) return 'tokens';
  return int(row, 'cost') >= Math.round(cost * MILLION) ? 'cost' : undefined;
}

function whyClosed(row: Row, rules: Rules): string {
  const { task_tokens: tokens = 0, task_cost: cost = 0, curriculum = {} } = rules;
  if (int(row, 'closed') === SPENT)
    return spentOf(row, rules) === 'cost'
      ? `${CLOSED_BY.cost}: its attempts cost ${costText(int(row, 'cost') / MILLION)} (limit ${costText(cost)}).`
      : `${CLOSED_BY.tokens}: its attempts used ${int(row, 'tokens')} tokens (limit ${tokens}).`;
  const { passed, scored } = rateIn(row);
  const rate = `${passed} of its ${plural(scored, 'attempt')} passed`;
  return `${CLOSED_BY.band}: ${rate}, outside ${bandText(curriculum)}.`;
}

function bandText({ keep: [low, high] = [0, 1] }: Pick<CurriculumRule, 'keep'>): string {
  return `${percent(low)} to ${percent(high)}`;
}

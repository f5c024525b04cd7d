/** Sorts and groups the tasks of a batch into the rows of the grid. */
import type { TaskFacts } from './taskFacts.ts';

export const SORTS = ['task', 'rate', 'failures', 'activity', 'tokens', 'duration', 'signal'] as const;
export type Sort = (typeof SORTS)[number];
export const SORT_NAMES: Readonly<Record<Sort, string>> = {
  task: 'task order',
  rate: 'pass rate',
  failures: 'failures first',
  activity: 'newest activity',
  tokens: 'tokens',
  duration: 'duration',
  signal: 'spread of rewards',
};

export const GROUPS = ['none', 'level', 'scenario', 'outcome', 'cause'] as const;
export type Group = (typeof GROUPS)[number];
export const GROUP_NAMES: Readonly<Record<Group, string>> = {
  none: 'none',
  level: 'level',
  scenario: 'scenario',
  outcome: 'outcome',
  cause: 'cause',
};

interface TaskRow {
  readonly kind: 'task';
  /** Position of the task in the batch. */
  readonly index: number;
}

export interface GroupRow {
  readonly kind: 'group';
  readonly key: string;
  readonly name: string;
  readonly tasks: number;
  /** Mean pass rate of the scored tasks. */
  readonly rate: number | undefined;
  readonly open: boolean;
}

export type GridRow = TaskRow | GroupRow;

export interface ArrangeInput {
  readonly tasks: number;
  readonly facts: (index: number) => TaskFacts;
  readonly level: (index: number) => string | undefined;
  readonly scenario: (index: number) => string | undefined;
  /** Tasks that match the filter; undefined if there is no filter. */
  readonly shown?: (index: number) => boolean;
  /** Spread of the rewards of a task; null without any. */
  readonly spread: (index: number) => number | null;
  readonly sort: Sort;
  readonly group: Group;
  /** Keys of the collapsed groups. */
  readonly folded: ReadonlySet<string>;
}

export function arrange(input: ArrangeInput): GridRow[] {
  const visible: number[] = [];
  for (let index = 0; index < input.tasks; index++)
    if (input.shown === undefined || input.shown(index)) visible.push(index);
  const key = keyOf(input);
  const inOrder = key === undefined ? visible : sorted(visible, key);
  if (input.group === 'none') return inOrder.map((index) => ({ kind: 'task', index }));
  return grouped(inOrder, input);
}

/**
 * Sorts by key; equal keys keep their order. Sorting plain numbers is much faster than calling a comparison function,
 * so only the index of each task's key is looked up.
 */
function sorted(visible: readonly number[], key: (index: number) => number): number[] {
  const keys = Float64Array.from(visible, key);
  const ascending = keys.toSorted();
  const taken = new Uint32Array(visible.length);
  const inOrder = new Array<number>(visible.length);
  for (const [at, index] of visible.entries()) {
    const first = firstAtLeast(ascending, keys[at] ?? 0);
    inOrder[first + (taken[first] ?? 0)] = index;
    taken[first] = (taken[first] ?? 0) + 1;
  }
  return inOrder;
}

function firstAtLeast(ascending: Float64Array, key: number): number {
  let from = 0;
  let to = ascending.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((ascending[middle] ?? 0) < key) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Returns the sort key of each task, ascending; undefined for the order of the batch. */
function keyOf({ sort, facts, spread }: ArrangeInput): ((index: number) => number) | undefined {
  switch (sort) {
    case 'task':
      return undefined;
    case 'rate':
      return (index) => -(rateOf(facts(index)) ?? -1);
    case 'failures':
      return (index) => rateOf(facts(index)) ?? 2;
    case 'activity':
      return (index) => -facts(index).newest;
    case 'tokens':
      return (index) => -facts(index).tokens;
    case 'duration':
      return (index) => -facts(index).ms;
    case 'signal':
      return (index) => -(spread(index) ?? -1);
  }
}

/** Returns undefined before any attempt is scored. */
export function rateOf({ passed, scored }: Pick<TaskFacts, 'passed' | 'scored'>): number | undefined {
  return scored === 0 ? undefined : passed / scored;
}

interface Members {
  readonly name: string;
  readonly indexes: number[];
  rates: number;
  /** Number of tasks that have a rate. */
  rated: number;
}

function grouped(visible: readonly number[], input: ArrangeInput): GridRow[] {
  const groups = new Map<string, Members>();
  for (const index of visible) {
    const { key, name } = groupOf(index, input);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { name, indexes: [], rates: 0, rated: 0 }));
    group.indexes.push(index);
    const rate = rateOf(input.facts(index));
    if (rate === undefined) continue;
    group.rates += rate;
    group.rated += 1;
  }
  const rows: GridRow[] = [];
  for (const [key, { name, indexes, rates, rated }] of [...groups].sort(([a], [b]) =>
    a.localeCompare(b, 'en', { numeric: true }),
  )) {
    const open = !input.folded.has(key);
    rows.push({ kind: 'group', key, name, tasks: indexes.length, rate: rated === 0 ? undefined : rates / rated, open });
    if (open) for (const index of indexes) rows.push({ kind: 'task', index });
  }
  return rows;
}

/** The keys sort in the order of the groups. */
function groupOf(
  index: number,
  { group, facts, level, scenario }: ArrangeInput,
): { readonly key: string; readonly name: string } {
  if (group === 'level') {
    const name = level(index);
    return name === undefined ? { key: '￿', name: 'no level' } : { key: name, name: `level ${name}` };
  }
  if (group === 'scenario') {
    const name = scenario(index);
    return name === undefined ? { key: '￿', name: 'no scenario' } : { key: name, name };
  }
  const { passed, scored, cause } = facts(index);
  if (group === 'cause') {
    if (cause !== undefined) return { key: cause.text, name: cause.text };
    return scored === 0 ? { key: '￿0', name: 'not scored yet' } : { key: '￿1', name: 'all passed' };
  }
  if (scored === 0) return { key: '4', name: 'not scored yet' };
  if (passed === scored) return { key: '3', name: 'all passed' };
  return passed === 0 ? { key: '1', name: 'none passed' } : { key: '2', name: 'mixed' };
}

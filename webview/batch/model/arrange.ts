/** In what order the tasks of a batch stand, and in which groups: the rows of the grid. */
import type { TaskFacts } from './taskFacts.ts';

export const SORTS = ['task', 'rate', 'failures', 'activity', 'tokens', 'duration'] as const;
export type Sort = (typeof SORTS)[number];
export const SORT_NAMES: Readonly<Record<Sort, string>> = {
  task: 'task order', rate: 'pass rate', failures: 'failures first', activity: 'newest activity', tokens: 'tokens', duration: 'duration',
};

export const GROUPS = ['none', 'level', 'outcome'] as const;
export type Group = (typeof GROUPS)[number];
export const GROUP_NAMES: Readonly<Record<Group, string>> = { none: 'none', level: 'level', outcome: 'outcome' };

export interface TaskRow {
  readonly kind: 'task';
  /** Position of the task in the batch. */
  readonly index: number;
}

export interface GroupRow {
  readonly kind: 'group';
  readonly key: string;
  readonly name: string;
  readonly tasks: number;
  /** Mean pass rate of its tasks that have a verdict. */
  readonly rate: number | undefined;
  readonly open: boolean;
}

export type GridRow = TaskRow | GroupRow;

export interface ArrangeInput {
  readonly tasks: number;
  readonly facts: (index: number) => TaskFacts;
  readonly level: (index: number) => string | undefined;
  /** Tasks that a filter leaves. Absent: all. */
  readonly shown?: (index: number) => boolean;
  readonly sort: Sort;
  readonly group: Group;
  /** Keys of the groups that are folded. */
  readonly folded: ReadonlySet<string>;
}

export function arrange(input: ArrangeInput): GridRow[] {
  const shown: number[] = [];
  for (let index = 0; index < input.tasks; index++) if (input.shown === undefined || input.shown(index)) shown.push(index);
  const key = keyOf(input);
  if (key !== undefined) {
    const keys = new Float64Array(input.tasks);
    for (const index of shown) keys[index] = key(index);
    shown.sort((a, b) => (keys[a] ?? 0) - (keys[b] ?? 0) || a - b);
  }
  if (input.group === 'none') return shown.map((index) => ({ kind: 'task', index }));
  return grouped(shown, input);
}

/** Smaller stands first. */
function keyOf({ sort, facts }: ArrangeInput): ((index: number) => number) | undefined {
  switch (sort) {
    case 'task': return undefined;
    case 'rate': return (index) => -(rateOf(facts(index)) ?? -1);
    case 'failures': return (index) => rateOf(facts(index)) ?? 2;
    case 'activity': return (index) => -facts(index).newest;
    case 'tokens': return (index) => -facts(index).tokens;
    case 'duration': return (index) => -facts(index).ms;
  }
}

/** undefined before any attempt has a verdict. */
export function rateOf({ passed, scored }: Pick<TaskFacts, 'passed' | 'scored'>): number | undefined {
  return scored === 0 ? undefined : passed / scored;
}

function grouped(shown: readonly number[], input: ArrangeInput): GridRow[] {
  const groups = new Map<string, { readonly name: string; readonly members: number[] }>();
  for (const index of shown) {
    const { key, name } = groupOf(index, input);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { name, members: [index] });
    else group.members.push(index);
  }
  const inOrder = [...groups].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  return inOrder.flatMap(([key, { name, members }]): GridRow[] => {
    const rates = members.flatMap((index) => rateOf(input.facts(index)) ?? []);
    const open = !input.folded.has(key);
    const head: GroupRow = { kind: 'group', key, name, tasks: members.length, rate: rates.length === 0 ? undefined : rates.reduce((sum, rate) => sum + rate, 0) / rates.length, open };
    return open ? [head, ...members.map((index): TaskRow => ({ kind: 'task', index }))] : [head];
  });
}

/** Keys sort as the groups stand. */
function groupOf(index: number, { group, facts, level }: ArrangeInput): { readonly key: string; readonly name: string } {
  if (group === 'level') {
    const name = level(index);
    return name === undefined ? { key: '￿', name: 'no level' } : { key: name, name: `level ${name}` };
  }
  const { passed, scored } = facts(index);
  if (scored === 0) return { key: '4', name: 'no verdict yet' };
  if (passed === scored) return { key: '3', name: 'all passed' };
  return passed === 0 ? { key: '1', name: 'none passed' } : { key: '2', name: 'mixed' };
}

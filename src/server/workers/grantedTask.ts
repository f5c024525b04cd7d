/**
 * What a worker gets of a task before scoring. Datasets hold more than the agent's side needs: the expected answer and,
 * in other columns, often the steps of an annotator. The worker gets the rest when scoring begins.
 */
import { placeholdersOf } from '../../config/prompt.ts';
import { agentsOf, type Submission } from '../../config/submission.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import { type TaskRecord, withoutAnswer } from '../../trace/task.ts';

export interface TaskNeeds {
  /** Whether a prompt contains the expected answer. */
  readonly answer: boolean;
  /** The columns of `task.meta`. A world is code that may read any. */
  readonly meta: 'all' | ReadonlySet<string>;
}

/** Returns what prompts, the world, and conditions of breakpoints use. Conditions do not get the expected answer. */
export function taskNeeds(
  { agent, mix = [], world }: Pick<Submission, 'agent' | 'mix' | 'world'>,
  breakpoints: readonly Breakpoint[],
): TaskNeeds {
  const prompts = [
    ...agentsOf({ agent }).map(({ prompt }) => prompt.text),
    ...mix.map(({ prompt }) => prompt?.text ?? ''),
    ...(world?.user === undefined ? [] : [world.user.prompt]),
  ];
  const paths = prompts.flatMap(placeholdersOf).map(({ path }) => path.split('.'));
  const answer = paths.some(([first]) => first === 'answer');
  if (world !== undefined) return { answer, meta: 'all' };
  const meta = new Set<string>();
  for (const [first, key] of paths) {
    if (first !== 'meta') continue;
    if (key === undefined) return { answer, meta: 'all' };
    meta.add(key);
  }
  for (const text of breakpoints.flatMap(({ when, log }) => [when ?? '', log ?? ''])) {
    const keys = columnsIn(text);
    if (keys === undefined) return { answer, meta: 'all' };
    for (const key of keys) meta.add(key);
  }
  return { answer, meta };
}

/** Returns the task as workers get it before scoring. */
export function grantedTask(task: TaskRecord, { answer, meta }: TaskNeeds): TaskRecord {
  return {
    ...(answer ? task : withoutAnswer(task)),
    meta: meta === 'all' ? task.meta : Object.fromEntries(Object.entries(task.meta).filter(([key]) => meta.has(key))),
  };
}

const COLUMN = /\btask\s*\.\s*meta\s*(?:\.\s*(\w+)|\[\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\])/g;

/** Returns the columns that a condition names; undefined if it uses `meta` in another way. */
function columnsIn(condition: string): string[] | undefined {
  const found = [...condition.matchAll(COLUMN)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
  return /\bmeta\b/.test(condition.replaceAll(COLUMN, '')) ? undefined : found;
}

/** Models the answers for a launch, their choices, and the resulting CLI arguments. */
import { z } from 'zod';
import type { BatchDemand } from '../../client/launchReview.ts';
import { plural } from '../../common/text.ts';
import { compact } from '../../common/units.ts';
import type { Estimate } from '../../config/estimate.ts';
import type { Choice } from '../window/questions/answer.ts';

const chosenTasks = z.discriminatedUnion('kind', [
  /** Value in the batch file. */
  z.object({ kind: z.literal('all') }),
  z.object({ kind: z.literal('first'), count: z.number().int().min(1) }),
  z.object({ kind: z.literal('some'), ids: z.array(z.string()).min(1) }),
]);
export type ChosenTasks = z.infer<typeof chosenTasks>;

export const launchAnswers = z.object({
  tasks: chosenTasks,
  /** Defaults to the value in the batch file. */
  attempts: z.number().int().min(1).optional(),
  /** Ignores the rules of the world. */
  noPerturb: z.literal(true).optional(),
});
export type LaunchAnswers = z.infer<typeof launchAnswers>;

/** Facts about a batch file for the questions. */
export interface FileFacts {
  readonly tasks: number;
  /** Whether these are all tasks. */
  readonly complete: boolean;
  readonly attempts: number;
  /** What one attempt of each task will use. */
  readonly estimate?: Estimate;
  /** Parts of the mix, with their shares from 0 to 1. */
  readonly parts?: readonly { readonly name: string; readonly share: number }[];
  /** What it asks of a server that divides what it has. */
  readonly demand?: BatchDemand;
}

const FIRST_TASKS = 10;
const ATTEMPT_COUNTS = [1, 4, 8, 32] as const;

type TaskChoice = { readonly kind: 'same'; readonly answers: LaunchAnswers } | ChosenTasks | { readonly kind: 'pick' };

/** Returns the choices for tasks. The last answers come first if they still apply. */
export function taskChoices(facts: FileFacts, last: LaunchAnswers | undefined): Choice<TaskChoice>[] {
  const choices: Choice<TaskChoice>[] = [];
  if (last !== undefined)
    choices.push({
      label: 'Same as last time',
      description: answersText(last, facts),
      icon: 'history',
      value: { kind: 'same', answers: last },
    });
  choices.push({
    ...(facts.tasks === 1
      ? { label: '1 task', description: 'the only one of the dataset' }
      : { label: `All ${countText(facts)}`, description: 'tasks of the dataset' }),
    value: { kind: 'all' },
  });
  if (facts.tasks > FIRST_TASKS)
    choices.push({
      label: `First ${FIRST_TASKS}`,
      description: 'tasks in the order of the dataset',
      value: { kind: 'first', count: FIRST_TASKS },
    });
  if (facts.tasks > 1) choices.push({ label: 'Pick tasks…', description: 'by ID', value: { kind: 'pick' } });
  return choices;
}

type AttemptChoice =
  | { readonly kind: 'file' }
  | { readonly kind: 'count'; readonly count: number }
  | { readonly kind: 'other' };

/** `tasks`: those that were chosen. Default: all. */
export function attemptChoices(
  facts: FileFacts,
  last: LaunchAnswers | undefined,
  tasks: ChosenTasks = { kind: 'all' },
): Choice<AttemptChoice>[] {
  const uses = (attempts: number): string => usesText(facts, attemptCount({ tasks, attempts }, facts));
  const counts = ATTEMPT_COUNTS.filter((count) => count !== facts.attempts);
  const lastAttempts = last?.attempts;
  return [
    {
      label: String(facts.attempts),
      description: `from the file${uses(facts.attempts)}`,
      ...partsDetail(facts),
      value: { kind: 'file' },
    },
    ...counts.map(
      (count): Choice<AttemptChoice> => ({
        label: String(count),
        description:
          (count === lastAttempts ? 'last time' : count === 1 ? 'attempt per task' : 'attempts per task') + uses(count),
        value: { kind: 'count', count },
      }),
    ),
    {
      label: 'Other…',
      description:
        lastAttempts !== undefined && lastAttempts !== facts.attempts && !counts.some((count) => count === lastAttempts)
          ? `last time ${lastAttempts}`
          : 'a number',
      value: { kind: 'other' },
    },
  ];
}

/**
 * Returns what a number of attempts will use, to follow another text. Only for agents that make one call: for others,
 * nobody knows before.
 */
function usesText(facts: FileFacts, attempts: number): string {
  const tokens = tokensOf(facts, attempts);
  if (tokens === undefined) return '';
  const { cost, attempts: estimated = 1 } = facts.estimate ?? {};
  const worth = cost === undefined ? '' : `, cost ${((cost * attempts) / estimated).toFixed(2)}`;
  return ` · about ${compact(tokens)} tokens${worth}`;
}

/** Returns how many tokens a number of attempts will use; undefined if nobody knows before. */
export function tokensOf({ estimate }: FileFacts, attempts: number): number | undefined {
  if (estimate === undefined || estimate.at_least || estimate.attempts === 0) return undefined;
  const { agent, judge } = estimate;
  const total = agent.input_tokens + agent.output_tokens + (judge?.input_tokens ?? 0) + (judge?.output_tokens ?? 0);
  return Math.round((total * attempts) / estimate.attempts);
}

/** Says into which parts the attempts are divided. */
function partsDetail({ parts = [] }: FileFacts): { readonly detail?: string } {
  if (parts.length === 0) return {};
  const all = parts.map(({ name, share }) => `${name} ${Number((100 * share).toFixed(1))}%`);
  return { detail: `Parts of the mix: ${all.join(', ')}` };
}

/** Returns the choices for a world that injects faults by these rules. */
export function faultChoices(rules: readonly string[], last: LaunchAnswers | undefined): Choice<boolean>[] {
  return [
    { label: 'Inject faults', description: `by the rules ${rules.join(', ')}`, value: true },
    {
      label: 'No faults',
      description: last?.noPerturb === true ? 'last time' : 'to compare with a batch that has them',
      value: false,
    },
  ];
}

/** Returns the error for an entered number of attempts, if any. */
export function attemptsProblem(text: string): string | undefined {
  const count = Number(text);
  return /^\d+$/.test(text.trim()) && count >= 1 && count <= 100_000 ? undefined : 'Enter an integer from 1 to 100000.';
}

/** Returns the number of attempts, or a lower bound if not all tasks were read. */
export function attemptCount({ tasks, attempts }: LaunchAnswers, facts: FileFacts): number {
  const count =
    tasks.kind === 'all' ? facts.tasks : tasks.kind === 'first' ? Math.min(tasks.count, facts.tasks) : tasks.ids.length;
  return count * (attempts ?? facts.attempts);
}

export function answersText({ tasks, attempts, noPerturb }: LaunchAnswers, facts?: FileFacts): string {
  const tasksByName =
    tasks.kind === 'some'
      ? tasks.ids.length === 1
        ? (tasks.ids[0] ?? '')
        : plural(tasks.ids.length, 'task')
      : undefined;
  const tasksText =
    tasksByName ??
    (tasks.kind === 'first'
      ? `first ${plural(tasks.count, 'task')}`
      : facts === undefined
        ? 'all tasks'
        : `all ${countText(facts)} tasks`);
  const count = attempts ?? facts?.attempts;
  const attemptsText = count === undefined ? 'attempts from the file' : plural(count, 'attempt');
  return `${tasksText} × ${attemptsText}${noPerturb === true ? ', no faults' : ''}`;
}

function countText({ tasks, complete }: FileFacts): string {
  return complete ? String(tasks) : `${tasks}+`;
}

/** More IDs than this are passed in a file, because command lines are limited in length. */
const IDS_IN_ARGUMENTS = 20;

/** Returns the arguments of `rollout run`. `taskFile` contains the IDs if `needsTaskFile` returns true. */
export function runArguments(file: string, answers: LaunchAnswers, taskFile: string | undefined): string[] {
  const { tasks, attempts, noPerturb } = answers;
  const args = ['run', file, '--detach'];
  if (attempts !== undefined) args.push(`--attempts=${attempts}`);
  if (noPerturb === true) args.push('--no-perturb');
  if (tasks.kind === 'first') args.push(`--limit=${tasks.count}`);
  if (tasks.kind === 'some')
    args.push(...(taskFile === undefined ? tasks.ids.map((id) => `--task=${id}`) : [`--task-file=${taskFile}`]));
  return args;
}

export function needsTaskFile({ tasks }: LaunchAnswers): boolean {
  return tasks.kind === 'some' && tasks.ids.length > IDS_IN_ARGUMENTS;
}

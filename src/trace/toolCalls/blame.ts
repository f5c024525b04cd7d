/**
 * Decides from the tool calls of attempts which tasks failed because of their world, and not because of the agent.
 * Arguments that a schema refuses do not count: they are the agent's mistake.
 */
import { isJsonObject, type Json } from '../../common/json.ts';
import type { CallFact } from './fact.ts';

/** An attempt with its calls. */
export interface RunOfTask {
  readonly task: string;
  /** null: it could not be scored. */
  readonly passed: boolean | null;
  /** Class of the error that ended it. */
  readonly errorClass: string | undefined;
  readonly calls: readonly Pick<CallFact, 'tool' | 'error' | 'values'>[];
}

/** A task whose failures all blame its world. */
export interface TaskSetAside {
  readonly task: string;
  readonly attempts: number;
  readonly reasons: readonly string[];
}

/** As many errors of routes are no accident. */
const REPEATED = 2;
const FAULT = /\bStatus code: 5\d\d\b/;
const NO_ROUTE = /\bStatus code: (405\b|404\b.*"detail": ?"Not Found")/s;

/** Returns the tasks to set aside: none of their attempts passed, and each has a reason that lies in the world. */
export function tasksToSetAside(runs: Iterable<RunOfTask>): TaskSetAside[] {
  const byTask = new Map<string, RunOfTask[]>();
  for (const run of runs) byTask.set(run.task, [...(byTask.get(run.task) ?? []), run]);
  const found: TaskSetAside[] = [];
  for (const [task, attempts] of byTask) {
    if (attempts.some(({ passed }) => passed === true)) continue;
    const reasons = attempts.map(worldReasons);
    if (reasons.every((list) => list.length > 0))
      found.push({ task, attempts: attempts.length, reasons: [...new Set(reasons.flat())] });
  }
  return found;
}

/** Returns why an attempt may have failed because of its world. */
export function worldReasons({ errorClass, calls }: RunOfTask): string[] {
  const reasons: string[] = [];
  if (errorClass === 'world_error') reasons.push('the world ended');
  const faulty = new Set(calls.filter(({ error }) => error !== undefined && isFault(error)).map(({ tool }) => tool));
  for (const tool of faulty) reasons.push(`${tool} failed in its code`);
  const lost = calls.filter(({ error }) => NO_ROUTE.test(error?.message ?? ''));
  if (lost.length >= REPEATED) reasons.push(`${lost[0]?.tool ?? ''} has no endpoint`);
  const answered = calls.filter(({ error }) => error === undefined);
  if (
    answered.length > 0 &&
    answered.length === calls.length &&
    answered.every(({ values }) => isEmpty(values?.result))
  )
    reasons.push('all results were empty');
  return reasons;
}

/** Whether the code of a tool failed: it answered 5xx, threw, or ran too long. */
function isFault({ class: kind, message, stack, blame }: NonNullable<CallFact['error']>): boolean {
  return (
    blame === 'world' ||
    kind === 'world_error' ||
    (kind === 'tool_error' && (FAULT.test(message) || stack !== undefined))
  );
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.every(isEmpty);
  return isJsonObject(value) && Object.values(value).every(isEmpty);
}

/** What kept a batch from a fair result, as lines for people: why it was stopped, and one line per cause. */
import type { BatchRow } from '../protocol/client.ts';
import type { Attempt } from '../trace/statistics/outcomes.ts';

/** Causes told of each kind. */
const MOST_CAUSES = 3;

/** What the exit code of a command that ran a batch says of its attempts. */
export function outcomeOf(attempts: readonly Attempt[]): 0 | 1 | 3 {
  const settled = new Set(attempts.map(({ settlement }) => settlement));
  if (settled.has('infrastructure')) return 3;
  return settled.has('unscored') && !settled.has('scored') ? 1 : 0;
}

/** `told`: texts that were said already. */
export function troubleLines(batch: BatchRow, attempts: readonly Attempt[], told: ReadonlySet<string>): string[] {
  const lines: string[] = [];
  const { reason = 'done' } = batch;
  const stopped = reason !== 'done';
  if (stopped && !told.has(reason)) lines.push(`The batch was stopped: ${reason}`);
  const lost = attempts.filter(({ settlement }) => settlement === 'infrastructure');
  lines.push(...causeLines(lost, 'lost to infrastructure', new Set([...told, reason])));
  // The agent is not to blame for these either, though they count as its result.
  for (const [error, what] of [['model_error', 'ended by a refusal of the model endpoint'], ['world_error', 'ended by an error of the world']] as const) {
    lines.push(...causeLines(attempts.filter((attempt) => attempt.settlement === 'scored' && attempt.error === error), what, told));
  }
  lines.push(...causeLines(attempts.filter(({ settlement }) => settlement === 'unscored'), 'left without a score', told));
  if (lost.length > 0 && !stopped) lines.push(`rollout retry ${batch.batch} tries what was lost again.`);
  return lines;
}

function causeLines(attempts: readonly Attempt[], what: string, told: ReadonlySet<string>): string[] {
  const causes = new Map<string, number>();
  for (const { message = '' } of attempts) causes.set(message, (causes.get(message) ?? 0) + 1);
  const sorted = [...causes].sort(([, a], [, b]) => b - a);
  const lines = sorted.slice(0, MOST_CAUSES).map(([message, count]) => `${count} ${count === 1 ? 'attempt was' : 'attempts were'} ${what}${message === '' || told.has(message) ? '.' : `: ${message}`}`);
  const rest = sorted.slice(MOST_CAUSES).reduce((sum, [, count]) => sum + count, 0);
  if (rest > 0) lines.push(`${rest} more ${rest === 1 ? 'was' : 'were'} ${what} for ${sorted.length - MOST_CAUSES} other reasons.`);
  return lines;
}

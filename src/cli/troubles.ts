/** Explains what distorted a batch’s result: why it was stopped, and one line per cause of lost attempts. */
import type { BatchRow } from '../protocol/client.ts';
import type { Attempt } from '../trace/statistics/outcomes.ts';

/** Causes listed per kind. */
const MAX_CAUSES = 3;

/** Errors that end an attempt but leave it scored. */
const COUNTED = [
  ['model_error', 'ended by a model error'],
  ['context_overflow', 'cut short by a full context'],
  ['world_error', 'ended by a world error'],
] as const;

/** Returns the exit code for a batch’s attempts. */
export function outcomeOf(attempts: readonly Attempt[]): 0 | 1 | 3 {
  const settled = new Set(attempts.map(({ settlement }) => settlement));
  if (settled.has('infrastructure')) return 3;
  return settled.has('unscored') && !settled.has('scored') ? 1 : 0;
}

/** Returns the lines to print. Messages in `reported` were printed before and are not repeated. */
export function troubleLines(batch: BatchRow, attempts: readonly Attempt[], reported: ReadonlySet<string>): string[] {
  const lines: string[] = [];
  const { reason = 'done' } = batch;
  const stopped = reason !== 'done';
  if (stopped && !reported.has(reason)) lines.push(`The batch was stopped: ${reason}`);
  const lost = attempts.filter(({ settlement }) => settlement === 'infrastructure');
  lines.push(...causeLines(lost, 'lost to infrastructure', new Set([...reported, reason])));
  // These are not the agent’s fault either, but they count as its result.
  for (const [error, description] of COUNTED) {
    lines.push(
      ...causeLines(
        attempts.filter((attempt) => attempt.settlement === 'scored' && attempt.error === error),
        description,
        reported,
        error === 'context_overflow' ? withoutNumbers : undefined,
      ),
    );
  }
  lines.push(
    ...causeLines(
      attempts.filter(({ settlement }) => settlement === 'unscored'),
      'left without a score',
      reported,
    ),
  );
  if (lost.length > 0 && !stopped) lines.push(`Retry the lost attempts with rollout retry ${batch.batch}.`);
  return lines;
}

/** Masks numbers: context overflow messages include the token count of each attempt. */
function withoutNumbers(message: string): string {
  return message.replaceAll(/\d+/g, '0');
}

/** Groups messages by `groupKey` and shows the first of each group. */
function causeLines(
  attempts: readonly Attempt[],
  description: string,
  reported: ReadonlySet<string>,
  groupKey = (message: string) => message,
): string[] {
  const causes = Map.groupBy(
    attempts.map(({ message = '' }) => message),
    groupKey,
  );
  const sorted = [...causes.values()].sort((a, b) => b.length - a.length);
  const lines = sorted
    .slice(0, MAX_CAUSES)
    .map(
      ([message = '', ...more]) =>
        `${more.length === 0 ? '1 attempt was' : `${more.length + 1} attempts were`} ` +
        `${description}${message === '' || reported.has(message) ? '.' : `: ${message}`}`,
    );
  const rest = sorted.slice(MAX_CAUSES).reduce((sum, { length }) => sum + length, 0);
  if (rest > 0)
    lines.push(
      `${rest} more ${rest === 1 ? 'was' : 'were'} ${description} for ${sorted.length - MAX_CAUSES} other reasons.`,
    );
  return lines;
}

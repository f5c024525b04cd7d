/** What kept a batch from a fair result, as lines for people: why it was stopped, and one line per cause. */
import type { BatchRow } from '../protocol/client.ts';
import type { Attempt } from '../trace/statistics/outcomes.ts';

/** Causes told of each kind. */
const MAX_CAUSES = 3;

/** Errors that end an attempt which is scored all the same. */
const COUNTED = [
  ['model_error', 'ended by a refusal of the model endpoint'],
  ['context_overflow', 'cut short by a full context'],
  ['world_error', 'ended by an error of the world'],
] as const;

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
  for (const [error, what] of COUNTED) {
    lines.push(
      ...causeLines(
        attempts.filter((attempt) => attempt.settlement === 'scored' && attempt.error === error),
        what,
        told,
        error === 'context_overflow' ? withoutFigures : undefined,
      ),
    );
  }
  lines.push(
    ...causeLines(
      attempts.filter(({ settlement }) => settlement === 'unscored'),
      'left without a score',
      told,
    ),
  );
  if (lost.length > 0 && !stopped) lines.push(`rollout retry ${batch.batch} tries what was lost again.`);
  return lines;
}

/** Each attempt tells how long its own messages were. */
function withoutFigures(message: string): string {
  return message.replaceAll(/\d+/g, '0');
}

/** `alike`: what messages of one cause have in common, where they are not the same; the first stands for all. */
function causeLines(
  attempts: readonly Attempt[],
  what: string,
  told: ReadonlySet<string>,
  alike = (message: string) => message,
): string[] {
  const causes = Map.groupBy(
    attempts.map(({ message = '' }) => message),
    alike,
  );
  const sorted = [...causes.values()].sort((a, b) => b.length - a.length);
  const lines = sorted
    .slice(0, MAX_CAUSES)
    .map(
      ([message = '', ...more]) =>
        `${more.length === 0 ? '1 attempt was' : `${more.length + 1} attempts were`} ` +
        `${what}${message === '' || told.has(message) ? '.' : `: ${message}`}`,
    );
  const rest = sorted.slice(MAX_CAUSES).reduce((sum, { length }) => sum + length, 0);
  if (rest > 0)
    lines.push(`${rest} more ${rest === 1 ? 'was' : 'were'} ${what} for ${sorted.length - MAX_CAUSES} other reasons.`);
  return lines;
}

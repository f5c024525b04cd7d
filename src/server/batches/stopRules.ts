/** `stop:` of a submission, looked at after attempts settled. */
import type { Submission } from '../../config/submission.ts';
import type { BatchProgress } from '../../store/store.ts';

/** A share of failures means little before so many attempts are settled. */
export const FAILURES_AFTER = 20;

/** Why the whole batch shall stop; undefined: it goes on. */
export function reasonToStop(stop: Submission['stop'], progress: BatchProgress): string | undefined {
  const { settled, failed, tokens } = progress;
  if (stop.failures !== undefined && settled >= FAILURES_AFTER && failed > 0 && failed / settled >= stop.failures) {
    return (
      `stop.failures: ${failed} of ${settled} settled attempts did not pass (limit ` +
      `${Math.round(stop.failures * 1000) / 10}%).`
    );
  }
  if (stop.tokens !== undefined && tokens >= stop.tokens)
    return `stop.tokens: ${tokens} tokens were used (limit ${stop.tokens}).`;
  return undefined;
}

export function hasStopRules(stop: Submission['stop']): boolean {
  return stop.passes_per_task !== undefined || stop.failures !== undefined || stop.tokens !== undefined;
}

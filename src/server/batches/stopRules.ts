/** The `stop:` rules of a submission, evaluated after attempts settle. */
import type { Submission } from '../../config/submission.ts';
import type { BatchProgress } from '../../store/store.ts';

/** With fewer settled attempts than this, a share of failures means little. */
const FAILURES_AFTER = 20;

/** Returns why the whole batch must stop; undefined if it continues. */
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

/** The `stop:` rules of a submission, evaluated after attempts settle. */
import { newId } from '../../common/ids.ts';
import { plural } from '../../common/text.ts';
import type { Submission } from '../../config/submission.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { BatchProgress, Store } from '../../store/store.ts';

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

/** `refreshed`: whether the band of its curriculum moves. */
export function hasStopRules(stop: Submission['stop'], refreshed: boolean): boolean {
  const { passes_per_task: passes, failures, tokens, tokens_per_task: taskTokens, cost_per_task: taskCost } = stop;
  return refreshed || [passes, failures, tokens, taskTokens, taskCost].some((rule) => rule !== undefined);
}

/** Whether no attempt runs, and those that wait may be ones that never begin. */
export function onlyWaits({ counts, curriculum, budget }: BatchRow): boolean {
  const closed = (curriculum?.outside ?? 0) + (budget?.spent ?? 0);
  return closed > 0 && counts.queued > 0 && counts.running + counts.held === 0;
}

/** Cancels the remaining attempts of a task that passed often enough. */
export async function endSatisfied(store: Store, batch: string, task: string, passes: number): Promise<void> {
  const reason = `stop.passes_per_task: ${plural(passes, 'attempt')} of the task passed.`;
  await store.closeRollouts({ batch, task }, { status: 'cancelled', reason }, false);
  let after: string | undefined;
  do {
    const page = await store.rollouts(batch, { task, limit: 500, ...(after === undefined ? {} : { after }) });
    for (const row of page.rollouts) {
      if (row.state === 'running' || row.state === 'held')
        await store.putCommand({
          id: newId('c'),
          batch,
          rollout: row.rollout,
          verb: 'cancel',
          args: { reason },
          by: 'stop.passes_per_task',
        });
    }
    after = page.next;
  } while (after !== undefined);
}

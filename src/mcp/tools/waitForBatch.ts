import { z } from 'zod';
import { BatchEnd } from '../../client/batchEnd.ts';
import { resolveBatch } from '../../client/reference.ts';
import { subscribe } from '../../client/subscribe.ts';
import { batchHeading } from '../../client/text/batchText.ts';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { attemptCount } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { BATCH, batchData, batchShape } from '../answers/shapes.ts';
import { type Call, defineTool } from '../tool.ts';

const WIDTH = 120;

export const waitForBatch = defineTool({
  name: 'wait_for_batch',
  title: 'Wait for a batch',
  description:
    'Waits until a batch has ended, or for the given number of seconds, and returns its state. Reports progress at ' +
    'once and on every change. Call it again to continue waiting.',
  input: z.strictObject({
    batch: BATCH,
    seconds: z
      .number()
      .min(0)
      .max(600)
      .default(45)
      .describe('Maximum wait in seconds; keep it below the call timeout of your client'),
  }),
  output: z.object({ ended: z.boolean(), batch: batchShape }),
  effect: 'read',
  async run({ batch, seconds }, call) {
    const id = await resolveBatch(call.api, batch, call.signal);
    const row = await waitForEnd(id, seconds * 1000, call);
    const ended = row.state === 'ended';
    return {
      data: { ended, batch: batchData(row) },
      text: `${ended ? 'Ended.' : `Not ended yet after ${seconds} s.`} ${batchHeading(row, WIDTH)}`,
    };
  },
});

/**
 * Follows a batch until its end or a timeout and returns its final row. Reports progress at the start, on every change,
 * and at the end.
 */
async function waitForEnd(batch: string, ms: number, { api, connection, signal, progress }: Call): Promise<BatchRow> {
  const row = await api.batch(batch, signal);
  const total = attemptCount(row);
  const enough = new AbortController();
  let reported = -1;
  const report = async (ended: number): Promise<void> => {
    const done = Math.min(ended, total);
    if (done <= reported) return; // MCP requires increasing progress, but a retry reduces it
    reported = done;
    // Stop if the client no longer listens.
    await progress(done, total, `${done} of ${plural(total, 'attempt')} ended`).catch(() => enough.abort());
  };
  await report(endedOf(row));
  if (row.state === 'ended' || ms === 0) return row;
  const timer = setTimeout(() => enough.abort(), ms);
  const ended = new Set<string>();
  const batchEnd = new BatchEnd(
    async () => (await api.batch(batch, signal)).state === 'ended',
    () => enough.abort(),
  );
  try {
    await subscribe(
      connection,
      { stream: batch },
      {
        rows: (rows) => {
          for (const one of rows) note(one, ended);
          return report(ended.size);
        },
        events: (events) => batchEnd.add(events),
        head: () => void batchEnd.head(),
        notice: () => undefined,
        lost: () => undefined,
      },
      AbortSignal.any([enough.signal, signal]),
    );
  } finally {
    clearTimeout(timer);
  }
  if (signal.aborted)
    throw new StudioError('cancelled', 'The wait was cancelled. The batch keeps running.', {
      hint: 'Stop it with stop_batch.',
    });
  const last = await api.batch(batch, signal);
  await report(endedOf(last)); // includes attempts cancelled before they had a rollout
  return last;
}

function endedOf({ counts: { passed, failed, unscored, cancelled, infrastructure } }: BatchRow): number {
  return passed + failed + unscored + cancelled + infrastructure;
}

/** Returns the ended attempts by task and attempt, based on their newest try. */
function note(row: RolloutRow, ended: Set<string>): void {
  const attempt = `${row.task_index}/${row.attempt}`;
  if (row.state === 'ended') ended.add(attempt);
  else ended.delete(attempt);
}

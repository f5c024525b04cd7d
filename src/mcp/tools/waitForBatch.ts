import { z } from 'zod';
import { resolveBatch } from '../../client/reference.ts';
import { subscribe } from '../../client/subscribe.ts';
import { batchHeading } from '../../client/text/batchText.ts';
import { StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { BATCH, batchData, batchShape } from '../answers/shapes.ts';
import { defineTool, type Call } from '../tool.ts';

const WIDTH = 120;

export const waitForBatch = defineTool({
  name: 'wait_for_batch',
  title: 'Wait for a batch',
  description: 'Waits until a batch has ended, or until the given seconds are over, whichever comes first, and tells how it stands. Progress is reported meanwhile. Call it again to go on waiting.',
  input: z.strictObject({ batch: BATCH, seconds: z.number().min(0).max(600).default(45).describe('Longest wait; mind the time your client gives a call') }),
  output: z.object({ ended: z.boolean(), batch: batchShape }),
  effect: 'read',
  async run({ batch, seconds }, call) {
    const id = await resolveBatch(call.api, batch, call.signal);
    const row = await waitForEnd(id, seconds * 1000, call);
    const ended = row.state === 'ended';
    return { data: { ended, batch: batchData(row) }, text: `${ended ? 'Ended.' : `Not ended yet after ${seconds} s.`} ${batchHeading(row, WIDTH)}` };
  },
});

/** Follows a batch until its end or for so long; how it stands then. */
async function waitForEnd(batch: string, ms: number, { api, connection, signal, progress }: Call): Promise<BatchRow> {
  const row = await api.batch(batch, signal);
  if (row.state === 'ended' || ms === 0) return row;
  const total = row.tasks * row.attempts;
  const enough = new AbortController();
  const timer = setTimeout(() => enough.abort(), ms);
  const ended = new Set<string>();
  let over = false;
  try {
    await subscribe(connection, { stream: batch }, {
      rows: (rows) => {
        const before = ended.size;
        for (const one of rows) note(one, ended);
        if (ended.size !== before) progress(Math.min(ended.size, total), total, `${ended.size} of ${total} attempts ended`).catch(() => enough.abort()); // nobody listens any more
      },
      events: (events) => {
        for (const event of events) {
          if (event.kind === 'batch.end') over = true;
          else if (event.kind === 'control') over = false; // a retry goes on behind the end
        }
      },
      head: () => {
        if (over) enough.abort();
      },
      notice: () => undefined,
      lost: () => undefined,
    }, AbortSignal.any([enough.signal, signal]));
  } finally {
    clearTimeout(timer);
  }
  if (signal.aborted) throw new StudioError('cancelled', 'The wait was cancelled; the batch runs on.', { mend: 'stop_batch ends it.' });
  return api.batch(batch, signal);
}

/** Attempts that ended, by task and attempt: of several tries the newest says. */
function note(row: RolloutRow, ended: Set<string>): void {
  const attempt = `${row.task_index}/${row.attempt}`;
  if (row.state === 'ended') ended.add(attempt);
  else ended.delete(attempt);
}

/** Notifies a URL of the user that a batch ended. Retries a few times; nothing waits for it. */
import { sleep } from '../../common/abort.ts';
import { errorText } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { redactor } from '../../common/redaction/redactor.ts';
import { outboundRequest } from '../../net/outboundRequest.ts';
import type { BatchRow } from '../../protocol/client.ts';

const PAUSES_MS = [0, 2_000, 10_000, 60_000];
const TIMEOUT_MS = 10_000;

/** Posts the batch's row as JSON: `{type: "batch.end", ...}`. Any 2xx status is success. */
export async function notifyEnd(url: string, row: BatchRow, log: Log, signal: AbortSignal): Promise<void> {
  const body = JSON.stringify({ type: 'batch.end', ...row });
  // Whoever knows the URL of a chat's webhook can post there.
  const secrets = redactor([url]);
  for (const [index, pause] of PAUSES_MS.entries()) {
    try {
      await sleep(pause, signal);
      const response = await outboundRequest(url, {
        method: 'POST',
        body,
        redirects: true,
        headers: { 'content-type': 'application/json' },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await response.drop();
      if (response.ok) return;
      log(`notify of ${row.batch}, try ${index + 1}: status ${response.status}`, {
        level: 'warning',
        batch: row.batch,
      });
    } catch (error) {
      if (signal.aborted) return;
      log(`notify of ${row.batch}, try ${index + 1}: ${secrets.text(errorText(error))}`, {
        level: 'warning',
        batch: row.batch,
      });
    }
  }
}

/**
 * Reports to the server what model calls show about their endpoints: failures immediately, successes as counts in
 * intervals.
 */
import type { EndpointReport } from '../../model/client.ts';
import type { PlainFrame } from '../outlet.ts';

const SEND_EVERY_MS = 100;

export class EndpointReports {
  readonly #send: (frame: PlainFrame) => void;
  /** Successful responses that were not reported yet. */
  readonly #good = new Map<string, number>();
  /** Endpoints whose last report was a failure. */
  readonly #troubled = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (frame: PlainFrame) => void) {
    this.#send = send;
  }

  readonly report = (report: EndpointReport): void => {
    const { endpoint, what } = report;
    if (what !== 'ok') {
      this.#troubled.add(endpoint);
      this.#send({ type: 'endpoint', ...report });
      return;
    }
    if (this.#troubled.delete(endpoint)) {
      this.#send({ type: 'endpoint', endpoint, what: 'ok' });
      return;
    }
    this.#good.set(endpoint, (this.#good.get(endpoint) ?? 0) + 1);
    this.#timer ??= setTimeout(() => this.#flush(), SEND_EVERY_MS);
  };

  close(): void {
    clearTimeout(this.#timer);
  }

  #flush(): void {
    this.#timer = undefined;
    for (const [endpoint, count] of this.#good) this.#send({ type: 'endpoint', endpoint, what: 'ok', count });
    this.#good.clear();
  }
}

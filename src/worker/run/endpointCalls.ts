/**
 * Tells the server how many calls of this worker are in flight, by endpoint: whenever it follows a new announcement,
 * when a call to a paused endpoint has ended, and with its beats.
 */
import type { Announcements } from '../../model/announcements.ts';
import type { PermitGate } from '../../model/permits.ts';
import type { CallsInFlight } from '../../protocol/endpoints.ts';
import type { PlainFrame } from '../outlet.ts';

interface EndpointCallsOptions {
  readonly gate: () => Pick<PermitGate, 'calls'>;
  readonly announcements: Announcements;
  readonly send: (frame: PlainFrame) => boolean;
}

export class EndpointCalls {
  readonly #options: EndpointCallsOptions;
  #sent = '';
  #soon: NodeJS.Immediate | undefined;

  constructor(options: EndpointCallsOptions) {
    this.#options = options;
  }

  /** Reports now. */
  report(): void {
    this.#sent = '';
    this.ifChanged();
  }

  /** Reports soon: many calls may end together. */
  readonly soon = (): void => {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.ifChanged();
    });
  };

  /** Reports unless the server knows it already. */
  ifChanged(): void {
    const { announcements, send } = this.#options;
    const report: CallsInFlight = { rev: announcements.rev, calls: this.#calls() };
    const text = JSON.stringify(report);
    if (text !== this.#sent && send({ type: 'calls', ...report })) this.#sent = text;
  }

  close(): void {
    if (this.#soon !== undefined) clearImmediate(this.#soon);
  }

  #calls(): CallsInFlight['calls'] {
    const { gate, announcements } = this.#options;
    const sums = new Map<string, CallsInFlight['calls'][number]>();
    for (const [url, calls] of gate().calls) {
      const name = announcements.nameOf(url);
      const key = JSON.stringify(name);
      sums.set(key, { ...name, calls: (sums.get(key)?.calls ?? 0) + calls });
    }
    return [...sums.values()];
  }
}

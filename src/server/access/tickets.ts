/**
 * One-use tickets for a token: a program that opens an address in a browser shows it to other users of the
 * machine, so the address has a ticket instead of the token.
 */
import { randomBytes } from 'node:crypto';

const VALID_MS = 60_000;

interface Ticket {
  readonly token: string;
  readonly until: number;
}

export class Tickets {
  readonly #open = new Map<string, Ticket>();

  /** `token`: what the ticket is for. */
  issue(token: string): string {
    this.#dropExpired();
    const ticket = randomBytes(32).toString('hex');
    this.#open.set(ticket, { token, until: performance.now() + VALID_MS });
    return ticket;
  }

  /** Uses up a ticket. Returns undefined if it was used, or is older than a minute. */
  redeem(ticket: string): string | undefined {
    this.#dropExpired();
    const found = this.#open.get(ticket);
    this.#open.delete(ticket);
    return found?.token;
  }

  #dropExpired(): void {
    const now = performance.now();
    for (const [ticket, { until }] of this.#open) if (until < now) this.#open.delete(ticket);
  }
}

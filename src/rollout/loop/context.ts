import type { Context as Ranges } from '../../trace/schema.ts';
import type { InjectedMessage } from '../act/history.ts';
import type { Edits } from '../gates/edits.ts';
import { ContextHash, type LoggedMessage, type Sha256 } from '../log/messages.ts';

/** The messages that the model of one agent sees: in order, with edits, and with messages injected by people. */
export class Context {
  #items: LoggedMessage[] = [];
  /** Messages injected by people, in order. Whoever injects appends to it. */
  readonly #inbox: readonly InjectedMessage[];
  #inserted = 0;
  readonly #edits: Edits;
  readonly #hash: ContextHash;
  /** Items from this index on are new to the model. */
  #newFrom = 0;

  constructor(edits: Edits, inbox: readonly InjectedMessage[], sha256: Sha256) {
    this.#edits = edits;
    this.#inbox = inbox;
    this.#hash = new ContextHash(sha256);
  }

  push(...messages: LoggedMessage[]): void {
    this.#items.push(...messages);
  }

  /** Marks all messages as seen by the model. */
  markSeen(): void {
    this.#newFrom = this.#items.length;
  }

  /** Messages as they were added: without edits, and without injected messages that have no position yet. */
  get items(): readonly LoggedMessage[] {
    return this.#items;
  }

  /** Replaces all messages; the new ones count as seen by the model. */
  rewrite(messages: readonly LoggedMessage[]): void {
    this.#items = [...messages];
    this.markSeen();
  }

  /** Returns what a call that starts at `before` sees. */
  view(before = Infinity): LoggedMessage[] {
    const injectedLater: LoggedMessage[] = [];
    for (let index = this.#inserted; index < this.#inbox.length; index++) {
      const injected = this.#inbox[index];
      if (injected === undefined || injected.seq >= before) break;
      injectedLater.push(injected.message);
    }
    return this.#edited([...this.#items, ...injectedLater], before);
  }

  #edited(messages: LoggedMessage[], before: number): LoggedMessage[] {
    return this.#edits.replacesAny ? messages.map((message) => this.#edits.resolve(message, before)) : messages;
  }

  /** Inserts injected messages up to `before` after the current messages. */
  insertInjected(before = Infinity): void {
    for (;;) {
      const injected = this.#inbox[this.#inserted];
      if (injected === undefined || injected.seq >= before) return;
      this.#items.push(injected.message);
      this.#inserted++;
    }
  }

  /** Returns one hash for what a call that starts at `before` sees. */
  key(before: number): string {
    return this.#hash.of(this.view(before));
  }

  isNew(m: number): boolean {
    return [
      ...this.#items.slice(this.#newFrom),
      ...this.#inbox.slice(this.#inserted).map((injected) => injected.message),
    ].some((message) => message.m === m || this.#edits.resolve(message).m === m);
  }
}

/** Returns messages as ranges of ordinals. */
export function rangesOf(messages: readonly LoggedMessage[]): Ranges {
  const ranges: Ranges = [];
  let last: Ranges[number] | undefined;
  for (const { m } of messages) {
    if (last?.[1] === m - 1) last[1] = m;
    else ranges.push((last = [m, m]));
  }
  return ranges;
}

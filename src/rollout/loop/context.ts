import type { Context as Ranges } from '../../trace/schema.ts';
import type { InjectedMessage } from '../act/history.ts';
import type { Edits } from '../gates/edits.ts';
import { ContextHash, type LoggedMessage, type Sha256 } from '../log/messages.ts';

/** What one agent's model sees: messages in order, as edited, with those that were put in by people. */
export class Context {
  #items: LoggedMessage[] = [];
  /** Messages put in by people, in order; appended to by whoever injects. */
  readonly #inbox: readonly InjectedMessage[];
  #taken = 0;
  readonly #edits: Edits;
  readonly #hash: ContextHash;
  /** Items from here on have not been seen by the model. */
  #newFrom = 0;

  constructor(edits: Edits, inbox: readonly InjectedMessage[], sha256: Sha256) {
    this.#edits = edits;
    this.#inbox = inbox;
    this.#hash = new ContextHash(sha256);
  }

  push(...messages: LoggedMessage[]): void {
    this.#items.push(...messages);
  }

  /** The model has seen all of it. */
  seen(): void {
    this.#newFrom = this.#items.length;
  }

  /** As they were put here: before edits, and without what waits to get its place. */
  get items(): readonly LoggedMessage[] {
    return this.#items;
  }

  /** Puts other messages in the place of all; the model is taken to have seen them. */
  rewrite(messages: readonly LoggedMessage[]): void {
    this.#items = [...messages];
    this.seen();
  }

  /** What a call that starts at `before` sees. */
  view(before = Infinity): LoggedMessage[] {
    const late: LoggedMessage[] = [];
    for (let index = this.#taken; index < this.#inbox.length; index++) {
      const injected = this.#inbox[index];
      if (injected === undefined || injected.seq >= before) break;
      late.push(injected.message);
    }
    return this.#edited([...this.#items, ...late], before);
  }

  #edited(messages: LoggedMessage[], before: number): LoggedMessage[] {
    return this.#edits.replacesAny ? messages.map((message) => this.#edits.resolve(message, before)) : messages;
  }

  /** Injected messages up to `before` get their place: here, behind what is there now. */
  settle(before = Infinity): void {
    for (;;) {
      const injected = this.#inbox[this.#taken];
      if (injected === undefined || injected.seq >= before) return;
      this.#items.push(injected.message);
      this.#taken++;
    }
  }

  /** One hash for what a call that starts at `before` sees. */
  key(before: number): string {
    return this.#hash.of(this.view(before));
  }

  isNew(m: number): boolean {
    return [
      ...this.#items.slice(this.#newFrom),
      ...this.#inbox.slice(this.#taken).map((injected) => injected.message),
    ].some((message) => message.m === m || this.#edits.resolve(message).m === m);
  }
}

/** Messages as ranges of ordinals. */
export function rangesOf(messages: readonly LoggedMessage[]): Ranges {
  const ranges: Ranges = [];
  let last: Ranges[number] | undefined;
  for (const { m } of messages) {
    if (last?.[1] === m - 1) last[1] = m;
    else ranges.push((last = [m, m]));
  }
  return ranges;
}

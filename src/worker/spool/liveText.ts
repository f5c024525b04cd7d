import type { Redaction } from './redaction.ts';

/**
 * The live text of a rollout's open spans. It is kept while they are open, so that new watchers get all of it. If there
 * are secrets, the end of the text is held back as long as it could be the beginning of one.
 */
export class LiveText {
  readonly #send: (span: number, offset: number, text: string) => void;
  readonly #spans = new Map<number, { text: string; sent: number }>();
  readonly #redaction: Redaction;
  #watched: boolean;

  constructor(watched: boolean, redaction: Redaction, send: (span: number, offset: number, text: string) => void) {
    this.#watched = watched;
    this.#redaction = redaction;
    this.#send = send;
  }

  add(span: number, text: string): void {
    let open = this.#spans.get(span);
    if (open === undefined) this.#spans.set(span, (open = { text: '', sent: 0 }));
    open.text += text;
    if (this.#watched) this.#catchUp(span, open);
  }

  /** The end event of a span contains the whole text. */
  end(span: number): void {
    if (this.#spans.size > 0) this.#spans.delete(span);
  }

  watch(on: boolean): void {
    this.#watched = on;
    if (!on) return;
    for (const [span, open] of this.#spans) this.#catchUp(span, open);
  }

  /** Sends everything to a server that has none of it. */
  again(): void {
    for (const open of this.#spans.values()) open.sent = 0;
    this.watch(this.#watched);
  }

  #catchUp(span: number, open: { text: string; sent: number }): void {
    const { longest } = this.#redaction;
    const redacted = longest === 0 ? open.text : this.#redaction.text(open.text);
    const to = longest === 0 ? redacted.length : redacted.length - longest;
    if (to <= open.sent) return;
    this.#send(span, open.sent, redacted.slice(open.sent, to));
    open.sent = to;
  }
}

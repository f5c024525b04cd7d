import type { RedactedStream } from '../../common/redaction/stream.ts';

interface OpenSpan {
  readonly redacted: RedactedStream;
  /** Everything that may be shown so far. */
  text: string;
  sent: number;
}

/**
 * The live text of a rollout's open spans. It is kept while they are open, so that new watchers get all of it. The end
 * of the text is withheld as long as it could be the beginning of a secret.
 */
export class LiveText {
  readonly #send: (span: number, offset: number, text: string) => void;
  readonly #spans = new Map<number, OpenSpan>();
  readonly #stream: () => RedactedStream;
  #watched: boolean;

  constructor(
    watched: boolean,
    stream: () => RedactedStream,
    send: (span: number, offset: number, text: string) => void,
  ) {
    this.#watched = watched;
    this.#stream = stream;
    this.#send = send;
  }

  get watched(): boolean {
    return this.#watched;
  }

  add(span: number, text: string): void {
    let open = this.#spans.get(span);
    if (open === undefined) this.#spans.set(span, (open = { redacted: this.#stream(), text: '', sent: 0 }));
    open.text += open.redacted.add(text);
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

  #catchUp(span: number, open: OpenSpan): void {
    if (open.text.length <= open.sent) return;
    this.#send(span, open.sent, open.text.slice(open.sent));
    open.sent = open.text.length;
  }
}

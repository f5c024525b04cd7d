/**
 * Reads server-sent events as model endpoints use them: the `data` of each event. An empty line ends an event.
 * Endpoints put one JSON text on one `data:` line; several lines are joined, as the format requires. Bytes may be split
 * anywhere, even within a character.
 */
export class EventStreamReader {
  readonly #onData: (data: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #data: string | undefined;

  constructor(onData: (data: string) => void) {
    this.#onData = onData;
  }

  push(bytes: Uint8Array): void {
    const text =
      this.#rest === ''
        ? this.#decoder.decode(bytes, { stream: true })
        : this.#rest + this.#decoder.decode(bytes, { stream: true });
    let at = 0;
    for (;;) {
      const end = text.indexOf('\n', at);
      if (end < 0) break;
      this.#line(text, at, end > at && text.charCodeAt(end - 1) === CARRIAGE_RETURN ? end - 1 : end);
      at = end + 1;
    }
    this.#rest = at === 0 ? text : text.slice(at);
  }

  /** Handles the end of the bytes. An event without its empty line still counts. */
  end(): void {
    const text = this.#rest + this.#decoder.decode();
    this.#rest = '';
    if (text !== '') this.#line(text, 0, text.endsWith('\r') ? text.length - 1 : text.length);
    this.#dispatch();
  }

  #line(text: string, from: number, to: number): void {
    if (from === to) {
      this.#dispatch();
      return;
    }
    // Comments (`:`) keep the connection alive; `event`, `id`, and `retry` are not used here.
    if (!text.startsWith('data:', from)) return;
    const start = text.charCodeAt(from + 5) === SPACE ? from + 6 : from + 5;
    const line = text.slice(start, to);
    this.#data = this.#data === undefined ? line : `${this.#data}\n${line}`;
  }

  #dispatch(): void {
    if (this.#data === undefined) return;
    const data = this.#data;
    this.#data = undefined;
    this.#onData(data);
  }
}

const CARRIAGE_RETURN = 13;
const SPACE = 32;

/**
 * Reads server-sent events as model endpoints use them: the `data` of each event. An empty line ends an event.
 * Endpoints put one JSON text on one `data:` line; several lines are joined, as the format requires. Bytes may be split
 * anywhere, even within a character: only whole lines are decoded, all that are there at once.
 */
export class EventStreamReader {
  readonly #onData: (data: string) => void;
  readonly #skim: (lines: string, at: number) => number;
  /** The bytes of a line that has not ended. */
  #rest: Buffer[] = [];
  #began = false;
  #data: string | undefined;

  /**
   * `skim` reads events that begin at a position of whole lines, if it knows them, and returns the position after them;
   * `onData` gets the others.
   */
  constructor(onData: (data: string) => void, skim: (lines: string, at: number) => number = (_, at) => at) {
    this.#onData = onData;
    this.#skim = skim;
  }

  push(bytes: Buffer): void {
    const end = bytes.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) {
      this.#rest.push(bytes);
      return;
    }
    const lines = bytes.subarray(0, end);
    const text = this.#decode(this.#rest.length === 0 ? lines : Buffer.concat([...this.#rest, lines]));
    this.#rest = end === bytes.length ? [] : [bytes.subarray(end)];
    let at = 0;
    while (at < text.length) {
      if (this.#data === undefined) {
        const after = this.#skim(text, at);
        if (after > at) {
          at = after;
          continue;
        }
      }
      const lineEnd = text.indexOf('\n', at);
      this.#line(text, at, lineEnd > at && text.charCodeAt(lineEnd - 1) === CARRIAGE_RETURN ? lineEnd - 1 : lineEnd);
      at = lineEnd + 1;
    }
  }

  /** Handles the end of the bytes. An event without its empty line still counts. */
  end(): void {
    const text = this.#decode(Buffer.concat(this.#rest));
    this.#rest = [];
    if (text !== '') this.#line(text, 0, text.endsWith('\r') ? text.length - 1 : text.length);
    this.#dispatch();
  }

  /** The stream may begin with a byte order mark. */
  #decode(bytes: Buffer): string {
    const text = bytes.toString('utf8');
    if (this.#began) return text;
    this.#began = true;
    return text.startsWith('\uFEFF') ? text.slice(1) : text;
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

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const SPACE = 32;

/**
 * Reads server-sent events as model endpoints use them: the `data` of each event. An empty line ends an event.
 * Endpoints put one JSON text on one `data:` line; several lines are joined, as the format requires. Bytes may be split
 * anywhere, even within a character: only whole lines are decoded, each by itself, so that what is kept of one does not
 * keep the others.
 */
export class EventStreamReader {
  readonly #onData: (data: string) => void;
  readonly #skim: (lines: Buffer, at: number) => number;
  /** The bytes of a line that has not ended. */
  #rest: Buffer[] = [];
  #began = false;
  #data: string | undefined;

  /**
   * `skim` reads events that begin at a position of whole lines, if it knows them, and returns the position after them;
   * `onData` gets the others.
   */
  constructor(onData: (data: string) => void, skim: (lines: Buffer, at: number) => number = (_, at) => at) {
    this.#onData = onData;
    this.#skim = skim;
  }

  push(bytes: Buffer): void {
    const end = bytes.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) {
      this.#rest.push(bytes);
      return;
    }
    const whole = bytes.subarray(0, end);
    const lines = this.#rest.length === 0 ? whole : Buffer.concat([...this.#rest, whole]);
    this.#rest = end === bytes.length ? [] : [bytes.subarray(end)];
    let at = this.#start(lines);
    while (at < lines.length) {
      if (this.#data === undefined) {
        const after = this.#skim(lines, at);
        if (after > at) {
          at = after;
          continue;
        }
      }
      const lineEnd = lines.indexOf(LINE_FEED, at);
      this.#line(lines, at, lineEnd);
      at = lineEnd + 1;
    }
  }

  /** Handles the end of the bytes. An event without its empty line still counts. */
  end(): void {
    const line = Buffer.concat(this.#rest);
    this.#rest = [];
    const at = this.#start(line);
    if (at < line.length) this.#line(line, at, line.length);
    this.#dispatch();
  }

  /** Returns where bytes begin: the stream may begin with a byte order mark. */
  #start(bytes: Buffer): number {
    if (this.#began) return 0;
    this.#began = true;
    return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  }

  /** `end`: without its line feed. */
  #line(lines: Buffer, from: number, end: number): void {
    const to = end > from && lines[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
    if (from === to) {
      this.#dispatch();
      return;
    }
    // Comments (`:`) keep the connection alive; `event`, `id`, and `retry` are not used here.
    if (lines[from] !== LETTER_D || lines.toString('latin1', from, Math.min(from + 5, to)) !== 'data:') return;
    const line = lines.toString('utf8', lines[from + 5] === SPACE && from + 5 < to ? from + 6 : from + 5, to);
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
const LETTER_D = 100;

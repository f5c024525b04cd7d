import type { Log } from '../log/log.ts';

/** Characters a single call, or whatever else prints, may print into the log. */
const MOST = 256 * 1024;

type Stream = 'out' | 'err';

/** What a tool prints, as `log` events: what it prints in one go is one event. */
export class ToolLog {
  readonly #log: Log;
  readonly #agent: string | undefined;
  readonly #span: number | undefined;
  #stream: Stream = 'out';
  #text = '';
  #written = 0;
  #ended = false;

  /** Without a span what is printed belongs to no call. */
  constructor(log: Log, agent?: string, span?: number) {
    this.#log = log;
    this.#agent = agent;
    this.#span = span;
  }

  add(stream: Stream, text: string): void {
    if (this.#ended || text === '') return;
    if (this.#text !== '' && this.#stream !== stream) this.#flush();
    if (this.#text === '') queueMicrotask(() => this.#flush());
    this.#stream = stream;
    this.#text += text;
  }

  /** Writes what is left; later output is not the call's any more. */
  end(): void {
    this.#flush();
    this.#ended = true;
  }

  #flush(): void {
    if (this.#text === '' || this.#written > MOST) return;
    const room = MOST - this.#written;
    const text = this.#text.length > room ? `${this.#text.slice(0, room)}\n(further output is left out)` : this.#text;
    this.#written += this.#text.length;
    this.#text = '';
    this.#log.append([{ kind: 'log', agent: this.#agent, span: this.#span, data: { stream: this.#stream, text } }]);
  }
}

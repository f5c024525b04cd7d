import type { Log } from '../log/log.ts';

/** Maximum number of characters that one call can write to the log. */
const MAX_CHARS = 256 * 1024;

type Stream = 'out' | 'err';

/** Writes the output of a tool as `log` events; output printed at once is one event. */
export class ToolLog {
  readonly #log: Log;
  readonly #agent: string | undefined;
  readonly #span: number | undefined;
  #stream: Stream = 'out';
  #text = '';
  #written = 0;
  #ended = false;

  /** Without a span, the output belongs to no call. */
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

  /** Writes the remaining output; later output no longer belongs to the call. */
  end(): void {
    this.#flush();
    this.#ended = true;
  }

  #flush(): void {
    if (this.#text === '' || this.#written > MAX_CHARS) return;
    const room = MAX_CHARS - this.#written;
    const text = this.#text.length > room ? `${this.#text.slice(0, room)}\n(further output omitted)` : this.#text;
    this.#written += this.#text.length;
    this.#text = '';
    this.#log.append([{ kind: 'log', agent: this.#agent, span: this.#span, data: { stream: this.#stream, text } }]);
  }
}

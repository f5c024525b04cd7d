import type { RedactedStream } from '../../common/redaction/stream.ts';
import type { Log } from '../log/log.ts';

/** Maximum number of characters that one call can write to the log. */
const MAX_CHARS = 256 * 1024;

type Stream = 'out' | 'err';

/**
 * Writes the output of a tool as `log` events; output printed at once is one event. What could be the beginning of a
 * secret waits for what follows it.
 */
export class ToolLog {
  readonly #log: Log;
  readonly #agent: string | undefined;
  readonly #span: number | undefined;
  readonly #redacted: Record<Stream, RedactedStream>;
  #stream: Stream = 'out';
  #text = '';
  #written = 0;
  #ended = false;

  /** Without a span, the output belongs to no call. */
  constructor(log: Log, agent?: string, span?: number) {
    this.#log = log;
    this.#agent = agent;
    this.#span = span;
    this.#redacted = { out: log.stream(), err: log.stream() };
  }

  add(stream: Stream, text: string): void {
    if (!this.#ended && text !== '') this.#add(stream, this.#redacted[stream].add(text));
  }

  /** Writes the remaining output; later output no longer belongs to the call. */
  end(): void {
    for (const stream of ['out', 'err'] as const) this.#add(stream, this.#redacted[stream].end());
    this.#flush();
    this.#ended = true;
  }

  #add(stream: Stream, text: string): void {
    if (text === '') return;
    if (this.#text !== '' && this.#stream !== stream) this.#flush();
    if (this.#text === '') queueMicrotask(() => this.#flush());
    this.#stream = stream;
    this.#text += text;
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

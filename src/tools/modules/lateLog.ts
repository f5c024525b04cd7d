import type { CallInspection } from '../../rollout/ports.ts';
import type { Sinks } from './workerThread.ts';

type Stream = 'out' | 'err';
/** Characters kept of what nobody could be told yet. */
const KEPT = 64 * 1024;

/** What a rollout's modules print outside of any call: told at once where somebody listens, else at the next call. */
export class LateLog {
  readonly #listener: ((stream: Stream, text: string) => void) | undefined;
  #waiting: [Stream, string][] = [];
  #chars = 0;
  #closed = false;

  constructor(listener: ((stream: Stream, text: string) => void) | undefined) {
    this.#listener = listener;
  }

  readonly tell = (stream: Stream, text: string): void => {
    if (this.#closed) return;
    if (this.#listener !== undefined) {
      this.#listener(stream, text);
      return;
    }
    this.#chars += text.length;
    if (this.#chars <= KEPT) this.#waiting.push([stream, text]);
  };

  /** The rollout is over: what is still printed is nobody's. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  /** Where a call's output goes; what waited goes first. */
  sinks(context: { readonly signal: AbortSignal; onLog(stream: Stream, text: string): void; onProgress(): void; readonly inspect?: CallInspection }): Sinks {
    if (this.#waiting.length > 0) {
      for (const [stream, text] of this.#waiting) context.onLog(stream, text);
      this.#waiting = [];
      this.#chars = 0;
    }
    return {
      signal: context.signal,
      onLog: (stream, text) => { context.onLog(stream, text); },
      onProgress: () => { context.onProgress(); },
      onLate: this.tell,
      inspect: context.inspect,
    };
  }

  /** For operations that are no tool calls. */
  quiet(signal: AbortSignal): Sinks {
    return { signal, onLog: this.tell, onProgress: () => undefined, onLate: this.tell };
  }
}

import type { CallInspection, OnLog } from '../../rollout/ports.ts';
import type { Sinks } from './workerThread.ts';

/** Characters kept of what nobody could be told yet. */
const KEPT = 64 * 1024;

/**
 * What a rollout's modules and servers print outside of any call: told at once where somebody listens, else at the next
 * call or the end.
 */
export class LateLog {
  #listener: OnLog | undefined;
  /** Of the calls under way that what nobody can place is taken for: the oldest one's. */
  readonly #calls: OnLog[] = [];
  #waiting: Parameters<OnLog>[] = [];
  #chars = 0;
  #closed = false;

  constructor(listener: OnLog | undefined) {
    this.#listener = listener;
  }

  readonly tell: OnLog = (stream, text) => {
    if (this.#closed) return;
    const listener = this.#listener ?? this.#calls[0];
    if (listener !== undefined) {
      listener(stream, text);
      return;
    }
    this.#chars += text.length;
    if (this.#chars <= KEPT) this.#waiting.push([stream, text]);
  };

  /** The rollout ends: who listens then gets what waits, and the last words of what ends with it. */
  ending(onLog: OnLog | undefined): void {
    if (this.#listener !== undefined || onLog === undefined) return;
    this.#listener = onLog;
    for (const [stream, text] of this.#waiting.splice(0)) onLog(stream, text);
  }

  /** The rollout is over: what is still printed is nobody's. */
  close(): void {
    this.#closed = true;
    this.#waiting = [];
  }

  /** Where a call's output goes; what waited goes first. */
  sinks(context: {
    readonly signal: AbortSignal;
    onLog: OnLog;
    onProgress(): void;
    readonly inspect?: CallInspection;
  }): Sinks {
    if (this.#waiting.length > 0) {
      for (const [stream, text] of this.#waiting) context.onLog(stream, text);
      this.#waiting = [];
      this.#chars = 0;
    }
    return {
      signal: context.signal,
      onLog: (stream, text) => {
        context.onLog(stream, text);
      },
      onProgress: () => {
        context.onProgress();
      },
      onLate: this.tell,
      inspect: context.inspect,
    };
  }

  /** A call is under way, of something that does not say which call it prints for; gives what ends that. */
  during(onLog: OnLog): () => void {
    this.#calls.push(onLog);
    return () => {
      this.#calls.splice(this.#calls.indexOf(onLog), 1);
    };
  }

  /** For operations that are no tool calls. */
  quiet(signal: AbortSignal): Sinks {
    return { signal, onLog: this.tell, onProgress: () => undefined, onLate: this.tell };
  }
}

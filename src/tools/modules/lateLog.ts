import type { CallInspection, OnLog } from '../../rollout/ports.ts';
import type { Sinks } from './workerThread.ts';

/** Maximum number of buffered characters. */
const MAX_BUFFERED = 64 * 1024;

/**
 * Output of a rollout's modules and servers outside of any call: forwarded immediately if there is a listener,
 * otherwise with the next call or at the end.
 */
export class LateLog {
  #listener: OnLog | undefined;
  /** Logs of running calls; output that belongs to no call is assigned to the oldest one. */
  readonly #calls: OnLog[] = [];
  #buffered: Parameters<OnLog>[] = [];
  #chars = 0;
  #closed = false;

  constructor(listener: OnLog | undefined) {
    this.#listener = listener;
  }

  readonly write: OnLog = (stream, text) => {
    if (this.#closed) return;
    const listener = this.#listener ?? this.#calls[0];
    if (listener !== undefined) {
      listener(stream, text);
      return;
    }
    this.#chars += text.length;
    if (this.#chars <= MAX_BUFFERED) this.#buffered.push([stream, text]);
  };

  /** Called when the rollout ends: forwards buffered output, and the final output of modules and servers. */
  ending(onLog: OnLog | undefined): void {
    if (this.#listener !== undefined || onLog === undefined) return;
    this.#listener = onLog;
    for (const [stream, text] of this.#buffered.splice(0)) onLog(stream, text);
  }

  /** Called when the rollout has ended: discards further output. */
  close(): void {
    this.#closed = true;
    this.#buffered = [];
  }

  /** Returns the sinks for the output of a call, after forwarding buffered output. */
  sinks(context: {
    readonly signal: AbortSignal;
    onLog: OnLog;
    onProgress(): void;
    readonly inspect?: CallInspection;
    onAgain?(): void;
  }): Sinks {
    if (this.#buffered.length > 0) {
      for (const [stream, text] of this.#buffered) context.onLog(stream, text);
      this.#buffered = [];
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
      onAgain: () => {
        context.onAgain?.();
      },
      onLate: this.write,
      inspect: context.inspect,
    };
  }

  /** Assigns output that belongs to no call to this one; returns a function that ends this. */
  during(onLog: OnLog): () => void {
    this.#calls.push(onLog);
    return () => {
      this.#calls.splice(this.#calls.indexOf(onLog), 1);
    };
  }

  /** Returns sinks for operations that are not tool calls. */
  quiet(signal: AbortSignal): Sinks {
    return { signal, onLog: this.write, onProgress: () => undefined, onLate: this.write };
  }
}

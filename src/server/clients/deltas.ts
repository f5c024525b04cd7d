/**
 * Live text of open spans while a client watches a rollout. Workers send it only then. It is never stored and may be
 * lost: the span's end event contains the whole text.
 */

/** Receives the live text of one rollout. */
export interface DeltaListener {
  delta(span: number, offset: number, text: string): void;
}

interface WatchedRollout {
  readonly listeners: Set<DeltaListener>;
  /** Text so far of each open span. */
  readonly spans: Map<number, string>;
}

export class Deltas {
  readonly #watched = new Map<string, WatchedRollout>();
  /** Asks the worker of a rollout to start (true) or stop (false) sending. */
  readonly #watch: (rollout: string, on: boolean) => void;

  constructor(watch: (rollout: string, on: boolean) => void) {
    this.#watch = watch;
  }

  /** Subscribes a listener. Returns the function that unsubscribes. */
  listen(rollout: string, listener: DeltaListener): () => void {
    let watched = this.#watched.get(rollout);
    if (watched === undefined) {
      watched = { listeners: new Set(), spans: new Map() };
      this.#watched.set(rollout, watched);
      this.#watch(rollout, true);
    }
    const current = watched;
    current.listeners.add(listener);
    return () => {
      current.listeners.delete(listener);
      if (current.listeners.size > 0 || this.#watched.get(rollout) !== current) return;
      this.#watched.delete(rollout);
      this.#watch(rollout, false);
    };
  }

  watched(rollout: string): boolean {
    return this.#watched.has(rollout);
  }

  open(rollout: string): { span: number; text: string }[] {
    return [...(this.#watched.get(rollout)?.spans ?? [])].map(([span, text]) => ({ span, text }));
  }

  receive(rollout: string, span: number, offset: number, text: string): void {
    const watched = this.#watched.get(rollout);
    if (watched === undefined) return;
    const before = watched.spans.get(span) ?? '';
    // After a gap (a lost delta) the text so far is incomplete for later listeners; current ones get the delta anyway.
    if (offset <= before.length) watched.spans.set(span, before.slice(0, offset) + text);
    for (const listener of watched.listeners) listener.delta(span, offset, text);
  }

  ended(rollout: string, span: number): void {
    this.#watched.get(rollout)?.spans.delete(span);
  }

  /** Handles a change of the rollout's worker: spans that were open will never end. */
  restart(rollout: string): void {
    this.#watched.get(rollout)?.spans.clear();
  }
}

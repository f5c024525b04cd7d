/**
 * Live text of open spans, while somebody watches a rollout. Workers send it only then; it is never stored and may be
 * lost: the span's end event holds the whole.
 */

/** What a subscription hears. */
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
  /** Tells the holder of a rollout to send (true) or to stop. */
  readonly #watch: (rollout: string, on: boolean) => void;

  constructor(watch: (rollout: string, on: boolean) => void) {
    this.#watch = watch;
  }

  /** Gives the function that ends it. */
  listen(rollout: string, listener: DeltaListener): () => void {
    let watched = this.#watched.get(rollout);
    if (watched === undefined) {
      watched = { listeners: new Set(), spans: new Map() };
      this.#watched.set(rollout, watched);
      this.#watch(rollout, true);
    }
    const own = watched;
    own.listeners.add(listener);
    return () => {
      own.listeners.delete(listener);
      if (own.listeners.size > 0 || this.#watched.get(rollout) !== own) return;
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
    // A gap (a delta was lost) cannot be shown to who comes later; those who listen get it as it is.
    if (offset <= before.length) watched.spans.set(span, before.slice(0, offset) + text);
    for (const listener of watched.listeners) listener.delta(span, offset, text);
  }

  ended(rollout: string, span: number): void {
    this.#watched.get(rollout)?.spans.delete(span);
  }

  /** The rollout has another holder, or none: what was open will never end. */
  restart(rollout: string): void {
    this.#watched.get(rollout)?.spans.clear();
  }
}

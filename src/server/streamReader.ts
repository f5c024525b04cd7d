/** Reads streams. For a fork, the shared events are read first, from the streams of its ancestors. */
import { StudioError } from '../common/errors.ts';
import { TRIMMED_HINT } from '../common/trimmed.ts';
import type { Lineage } from '../protocol/worker.ts';
import type { Store } from '../store/store.ts';

/** Serialized events of a stream. */
interface Chunk {
  readonly bodies: readonly string[];
  /** `seq` of the last event; `after` if there are no events. */
  readonly last: number;
  readonly chars: number;
  /** Whether there were more events when it was read. */
  readonly more: boolean;
}

export class StreamReader {
  readonly #store: Pick<Store, 'read'>;
  readonly #stream: string;
  readonly #lineage: Lineage;

  constructor(store: Pick<Store, 'read'>, stream: string, lineage: Lineage) {
    this.#store = store;
    this.#stream = stream;
    this.#lineage = lineage;
  }

  /** Reads events after `after` up to `until`, about `maxBytes` at most, but at least one if there is one. */
  async read(after: number, maxBytes: number, until = Infinity): Promise<Chunk> {
    const ancestor = this.#lineage.find((segment) => segment.to > after);
    const stream = ancestor?.rollout ?? this.#stream;
    const end = Math.min(until, ancestor?.to ?? Infinity);
    if (after >= until) return { bodies: [], last: after, chars: 0, more: false };
    const bodies: string[] = [];
    let last = after;
    let chars = 0;
    for (const event of await this.#store.read(stream, after, maxBytes)) {
      if (event.seq > end) break;
      if (event.seq !== last + 1)
        throw new StudioError('gone', `The events of ${stream} after ${last} were dropped.`, { hint: TRIMMED_HINT });
      bodies.push(event.body);
      chars += event.body.length;
      last = event.seq;
    }
    // The store fills up to maxBytes. Bytes are never fewer than characters, so much less means that there were no
    // more.
    const more = bodies.length > 0 && last < until && (ancestor !== undefined || chars * 4 >= maxBytes);
    return { bodies, last, chars, more };
  }

  /** Yields every serialized event with `after` < seq <= `until`. */
  async *all(after: number, until: number, maxBytes: number): AsyncGenerator<readonly string[]> {
    let cursor = after;
    while (cursor < until) {
      const chunk = await this.read(cursor, maxBytes, until);
      if (chunk.bodies.length === 0) return;
      yield chunk.bodies;
      cursor = chunk.last;
    }
  }
}

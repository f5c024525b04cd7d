/**
 * Limits what the workers may store as blobs for each rollout: a tool that writes without end, or somebody with the
 * token of a worker, must not fill the disk of the store. The store has the count, so that it survives a restart.
 */
import { StudioError } from '../../common/errors.ts';
import { bytes as bytesText } from '../../common/units.ts';
import type { Store } from '../../store/store.ts';

/** Rollouts whose bytes are cached. */
const CACHED = 100_000;

export class BlobQuota {
  readonly #most: number;
  readonly #store: Pick<Store, 'storedBytes' | 'addStoredBytes'>;
  /** By rollout: what is stored, and what arrives at the moment. */
  readonly #used = new Map<string, number>();

  /** @param most Bytes per rollout. */
  constructor(most: number, store: Pick<Store, 'storedBytes' | 'addStoredBytes'>) {
    this.#most = most;
    this.#store = store;
  }

  /**
   * Stores a blob with `put`. Throws StudioError `too_large` as soon as it is known that the rollout may not store it.
   * What was not stored does not count.
   */
  async meter(
    rollout: string,
    announced: number,
    bytes: AsyncIterable<Uint8Array>,
    put: (bytes: AsyncIterable<Uint8Array>) => Promise<void>,
  ): Promise<void> {
    if (this.#most === Infinity) {
      await put(bytes);
      return;
    }
    if (!this.#used.has(rollout)) {
      const stored = await this.#store.storedBytes(rollout);
      if (!this.#used.has(rollout)) this.#set(rollout, stored);
    }
    this.#check(rollout, announced);
    let counted = 0;
    const count = (size: number): void => {
      this.#check(rollout, size);
      this.#add(rollout, size);
      counted += size;
    };
    try {
      await put(metered(bytes, count));
    } catch (error) {
      this.#add(rollout, -counted);
      throw error;
    }
    const total = await this.#store.addStoredBytes(rollout, counted);
    this.#set(rollout, Math.max(total, this.#used.get(rollout) ?? 0)); // another server may have stored some, too
  }

  #check(rollout: string, bytes: number): void {
    if ((this.#used.get(rollout) ?? 0) + bytes <= this.#most) return;
    throw new StudioError(
      'too_large',
      `Rollout ${rollout} has more than ${bytesText(this.#most)} of large values, such as the output of its tools.`,
      { hint: 'Let its tools return less, or start the server with a larger --rollout-gb.' },
    );
  }

  #add(rollout: string, bytes: number): void {
    this.#set(rollout, (this.#used.get(rollout) ?? 0) + bytes);
  }

  #set(rollout: string, used: number): void {
    this.#used.delete(rollout);
    this.#used.set(rollout, used);
    if (this.#used.size > CACHED) this.#used.delete(this.#used.keys().next().value ?? '');
  }
}

async function* metered(bytes: AsyncIterable<Uint8Array>, count: (size: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    count(chunk.length);
    yield chunk;
  }
}

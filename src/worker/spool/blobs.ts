/** Blobs of a worker: stored once each, and read through a small cache. */
import { BlobCache } from './blobCache.ts';

interface BlobTransport {
  getBlob(sha: string, signal: AbortSignal): Promise<Uint8Array>;
  putBlob(sha: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
}

/** Hashes remembered as stored: the newest. Forgetting one only costs a repeated PUT. */
const REMEMBERED = 20_000;

export class Blobs {
  readonly #transport: BlobTransport;
  readonly #stored = new Set<string>();
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #cache = new BlobCache();
  readonly #signal: AbortSignal;

  /** `signal`: the worker's own. One upload may serve several rollouts, so none of theirs ends it. */
  constructor(transport: BlobTransport, signal: AbortSignal) {
    this.#transport = transport;
    this.#signal = signal;
  }

  /** Resolves once the blob is stored; undefined when it is already. */
  store(sha: string, bytes: Uint8Array): Promise<void> | undefined {
    if (this.#stored.has(sha)) return undefined;
    let put = this.#underWay.get(sha);
    if (put === undefined) {
      put = this.#put(sha, bytes);
      this.#underWay.set(sha, put);
    }
    return put;
  }

  async read(sha: string, signal: AbortSignal): Promise<Uint8Array> {
    const known = this.#cache.get(sha);
    if (known !== undefined) return known;
    const bytes = await this.#transport.getBlob(sha, signal);
    this.#cache.set(sha, bytes);
    return bytes;
  }

  async #put(sha: string, bytes: Uint8Array): Promise<void> {
    try {
      await this.#transport.putBlob(sha, bytes, this.#signal);
      this.#stored.add(sha);
      if (this.#stored.size > REMEMBERED) {
        const oldest = this.#stored.values().next();
        if (oldest.done !== true) this.#stored.delete(oldest.value);
      }
    } finally {
      this.#underWay.delete(sha);
    }
  }
}

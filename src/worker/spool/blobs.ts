/** The blobs of a worker: each is stored once for all its rollouts, and reads use a small cache. */
import { BlobCache } from './blobCache.ts';

interface BlobTransport {
  getBlob(sha: string, signal: AbortSignal): Promise<Uint8Array>;
  putBlob(rollout: string, sha: string, bytes: Uint8Array, signal: AbortSignal): Promise<void>;
}

/** Number of latest hashes that are known to be stored. Forgetting one only costs a repeated PUT. */
const REMEMBERED = 20_000;

export class Blobs {
  readonly #transport: BlobTransport;
  readonly #stored = new Set<string>();
  /** By rollout and sha: one that may store no more does not keep another from storing the same blob. */
  readonly #uploads = new Map<string, Promise<void>>();
  readonly #cache = new BlobCache();
  readonly #signal: AbortSignal;

  /** `signal` belongs to the worker: one upload may serve several rollouts, so none of theirs ends it. */
  constructor(transport: BlobTransport, signal: AbortSignal) {
    this.#transport = transport;
    this.#signal = signal;
  }

  /** Resolves once the blob is stored; returns undefined if it already is. */
  store(rollout: string, sha: string, bytes: Uint8Array): Promise<void> | undefined {
    if (this.#stored.has(sha)) return undefined;
    const key = `${rollout} ${sha}`;
    let put = this.#uploads.get(key);
    if (put === undefined) {
      put = this.#put(rollout, sha, bytes).finally(() => this.#uploads.delete(key));
      this.#uploads.set(key, put);
    }
    return put;
  }

  async read(sha: string, signal: AbortSignal): Promise<Uint8Array> {
    const cached = this.#cache.get(sha);
    if (cached !== undefined) return cached;
    const bytes = await this.#transport.getBlob(sha, signal);
    this.#cache.set(sha, bytes);
    return bytes;
  }

  async #put(rollout: string, sha: string, bytes: Uint8Array): Promise<void> {
    await this.#transport.putBlob(rollout, sha, bytes, this.#signal);
    this.#stored.add(sha);
    if (this.#stored.size > REMEMBERED) {
      const oldest = this.#stored.values().next();
      if (oldest.done !== true) this.#stored.delete(oldest.value);
    }
  }
}

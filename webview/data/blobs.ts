/** Blobs, fetched on demand. Caches the most recently used ones. */
import type { Json } from '../../src/common/json.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { BlobRef } from '../../src/trace/schema.ts';

const MAX_CACHE_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 2 * 1024 * 1024;

export class Blobs {
  readonly #api: Pick<Api, 'getBlob' | 'blobChunks' | 'blobPart'>;
  readonly #cache = new Map<string, { readonly bytes: Promise<Uint8Array>; size: number }>();

  constructor(api: Pick<Api, 'getBlob' | 'blobChunks' | 'blobPart'>) {
    this.#api = api;
  }

  bytes({ $blob: sha, bytes: size }: Pick<BlobRef, '$blob' | 'bytes'>): Promise<Uint8Array> {
    return this.#cached(sha, size, () => this.#api.getBlob(sha));
  }

  /** Returns `length` bytes from `at`; fewer at the end. They must not go beyond a multiple of 2 MB, as pages do. */
  async part(sha: string, at: number, length: number): Promise<Uint8Array> {
    const start = at - (at % PIECE_BYTES);
    const piece = await this.#cached(`${sha} ${start}`, PIECE_BYTES, () => this.#api.blobPart(sha, start, PIECE_BYTES));
    return piece.subarray(at - start, at - start + length);
  }

  /** Yields the bytes in chunks small enough not to delay a frame. They are not cached. */
  pieces({ $blob: sha, bytes: size }: Pick<BlobRef, '$blob' | 'bytes'>): AsyncGenerator<Uint8Array> {
    return this.#api.blobChunks(sha, size, PIECE_BYTES);
  }

  async text(ref: Pick<BlobRef, '$blob' | 'bytes'>): Promise<string> {
    return new TextDecoder().decode(await this.bytes(ref));
  }

  async json(ref: Pick<BlobRef, '$blob' | 'bytes'>): Promise<Json> {
    return JSON.parse(await this.text(ref)) as Json;
  }

  #cached(key: string, size: number, read: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const cached = this.#cache.get(key);
    if (cached !== undefined) {
      this.#cache.delete(key);
      this.#cache.set(key, cached); // now the newest
      return cached.bytes;
    }
    const bytes = read();
    this.#cache.set(key, { bytes, size });
    bytes.catch(() => this.#cache.delete(key));
    this.#evict();
    return bytes;
  }

  #evict(): void {
    let sum = 0;
    for (const { size } of this.#cache.values()) sum += size;
    for (const [sha, { size }] of this.#cache) {
      if (sum <= MAX_CACHE_BYTES || this.#cache.size === 1) return;
      this.#cache.delete(sha);
      sum -= size;
    }
  }
}

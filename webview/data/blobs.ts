/** Values that are kept elsewhere, fetched when somebody looks; the last few stay. */
import type { Json } from '../../src/common/json.ts';
import type { Api } from '../../src/protocol/api.ts';
import type { BlobRef } from '../../src/trace/schema.ts';

const KEPT_BYTES = 64 * 1024 * 1024;
const PIECE_BYTES = 2 * 1024 * 1024;

export class Blobs {
  readonly #api: Pick<Api, 'getBlob' | 'blobChunks'>;
  readonly #kept = new Map<string, { readonly bytes: Promise<Uint8Array>; size: number }>();

  constructor(api: Pick<Api, 'getBlob' | 'blobChunks'>) {
    this.#api = api;
  }

  bytes({ $blob: sha, bytes: size }: Pick<BlobRef, '$blob' | 'bytes'>): Promise<Uint8Array> {
    const known = this.#kept.get(sha);
    if (known !== undefined) {
      this.#kept.delete(sha);
      this.#kept.set(sha, known); // now the newest
      return known.bytes;
    }
    const bytes = this.#api.getBlob(sha);
    this.#kept.set(sha, { bytes, size });
    bytes.catch(() => this.#kept.delete(sha));
    this.#drop();
    return bytes;
  }

  /** Bytes for one who keeps them: they are not kept here. In pieces that cost a frame nothing. */
  pieces({ $blob: sha, bytes: size }: Pick<BlobRef, '$blob' | 'bytes'>): AsyncGenerator<Uint8Array> {
    return this.#api.blobChunks(sha, size, PIECE_BYTES);
  }

  async text(ref: Pick<BlobRef, '$blob' | 'bytes'>): Promise<string> {
    return new TextDecoder().decode(await this.bytes(ref));
  }

  async json(ref: Pick<BlobRef, '$blob' | 'bytes'>): Promise<Json> {
    return JSON.parse(await this.text(ref)) as Json;
  }

  #drop(): void {
    let sum = 0;
    for (const { size } of this.#kept.values()) sum += size;
    for (const [sha, { size }] of this.#kept) {
      if (sum <= KEPT_BYTES || this.#kept.size === 1) return;
      this.#kept.delete(sha);
      sum -= size;
    }
  }
}

/** The latest blobs that were read, up to a number of bytes: several rollouts read the same attachments and bundles. */
const MAX_BYTES = 32 * 1024 * 1024;

export class BlobCache {
  readonly #entries = new Map<string, Uint8Array>();
  #bytes = 0;

  get(sha: string): Uint8Array | undefined {
    const bytes = this.#entries.get(sha);
    if (bytes === undefined) return undefined;
    // The most recently used one comes last.
    this.#entries.delete(sha);
    this.#entries.set(sha, bytes);
    return bytes;
  }

  set(sha: string, bytes: Uint8Array): void {
    if (bytes.length > MAX_BYTES / 4 || this.#entries.has(sha)) return;
    this.#entries.set(sha, bytes);
    this.#bytes += bytes.length;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= MAX_BYTES) break;
      this.#entries.delete(oldest);
      this.#bytes -= entry.length;
    }
  }
}

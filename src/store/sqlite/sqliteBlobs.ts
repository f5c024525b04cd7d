import { type CollectableBlobs, type Content, checkSha, peek } from '../blobs/content.ts';
import type { FileBlobs } from '../blobs/fileBlobs.ts';
import type { RowBlobs } from '../blobs/rowBlobs.ts';
import { sqliteError } from './errors.ts';

/**
 * Blobs up to this size are rows, such as the token IDs of a model call or a long tool result. A separate file would
 * cost such a small blob two syncs and half a disk block; a row shares the group commit.
 */
const ROW = 32 * 1024;

/** Blobs of a SQLite store: small ones in the database, large ones as files next to it. */
export class SqliteBlobs implements CollectableBlobs {
  readonly #rows: RowBlobs;
  readonly outside: FileBlobs;
  readonly #files: FileBlobs;
  readonly #folder: string;

  constructor(rows: RowBlobs, files: FileBlobs, folder: string) {
    this.#rows = rows;
    this.#files = files;
    this.outside = files;
    this.#folder = folder;
  }

  async put(sha: string, content: Content): Promise<void> {
    checkSha(sha);
    await this.#withSqliteErrors(async () => {
      if ((await this.has([sha])).has(sha)) return;
      const read = await peek(content, ROW);
      await ('whole' in read ? this.#rows.put(sha, read.whole) : this.#files.put(sha, read.rest));
    });
  }

  get(
    sha: string,
    range?: { start: number; end?: number },
  ): Promise<{ size: number; bytes: AsyncIterable<Uint8Array> } | undefined> {
    return this.#withSqliteErrors(async () => (await this.#rows.get(sha, range)) ?? this.#files.get(sha, range));
  }

  has(shas: readonly string[]): Promise<Set<string>> {
    return this.#withSqliteErrors(async () => {
      const rows = await this.#rows.has(shas);
      return new Set([...rows, ...(await this.#files.has(shas.filter((sha) => !rows.has(sha))))]);
    });
  }

  remove(shas: readonly string[]): Promise<number> {
    return this.#withSqliteErrors(async () => (await this.#rows.remove(shas)) + (await this.#files.remove(shas)));
  }

  sweep(options: Parameters<CollectableBlobs['sweep']>[0]): Promise<{ blobs: number; bytes: number }> {
    return this.#withSqliteErrors(async () => {
      const rows = await this.#rows.sweep(options);
      const files = await this.#files.sweep(options);
      return { blobs: rows.blobs + files.blobs, bytes: rows.bytes + files.bytes };
    });
  }

  async #withSqliteErrors<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw sqliteError(error, this.#folder);
    }
  }
}

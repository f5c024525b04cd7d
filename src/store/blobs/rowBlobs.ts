import { createHash, randomBytes } from 'node:crypto';
import { bytes, int, text } from '../sql/row.ts';
import { BLOB, BLOB_CHUNK } from '../sql/schema.ts';
import type { Row, Sql } from '../sql/sql.ts';
import { BlobPacks, forgetPacked } from './blobPacks.ts';
import {
  type CollectableBlobs,
  type Content,
  checkContent,
  checkSha,
  isSha,
  peek,
  STALE_MS,
  sha256Of,
  UPLOAD_MS,
} from './content.ts';

/** Bytes per row. */
export const CHUNK = 512 * 1024;
const UPLOAD = 'upload-';

/** Stores blobs as chunked rows of the database, in the same group commits as everything else. */
export class RowBlobs implements CollectableBlobs {
  readonly #sql: Sql;
  readonly #packs: BlobPacks;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#packs = new BlobPacks(sql);
  }

  async put(sha: string, content: Content): Promise<void> {
    checkSha(sha);
    if ((await this.has([sha])).has(sha)) return;
    const read = await peek(content, CHUNK);
    if ('rest' in read) {
      await this.#upload(sha, read.rest);
      return;
    }
    checkContent(sha, sha256Of(read.whole));
    await this.#sql.write(async (tx) => {
      const written = await tx.insert(
        BLOB,
        ['sha', 'size', 'put_at'],
        [[sha, read.whole.byteLength, tx.now]],
        'ignore',
      );
      if (written > 0) await tx.insert(BLOB_CHUNK, ['sha', 'n', 'bytes'], [[sha, 0, read.whole]]);
    });
  }

  /** Uploads chunks under a temporary name, so that incomplete or wrong content is never visible. */
  async #upload(sha: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const upload = `${UPLOAD}${await this.#sql.now()}-${randomBytes(8).toString('hex')}`;
    const hash = createHash('sha256');
    let size = 0;
    let n = 0;
    try {
      for await (const chunk of chunks(content)) {
        hash.update(chunk);
        size += chunk.byteLength;
        const row = [upload, n++, chunk];
        await this.#sql.write((tx) => tx.insert(BLOB_CHUNK, ['sha', 'n', 'bytes'], [row]));
      }
      checkContent(sha, hash.digest('hex'));
      await this.#sql.write(async (tx) => {
        const written = await tx.insert(BLOB, ['sha', 'size', 'put_at'], [[sha, size, tx.now]], 'ignore');
        // Another client may have uploaded the same blob in the meantime.
        if (written > 0) await tx.run('UPDATE blob_chunk SET sha = ? WHERE sha = ?', sha, upload);
        else await tx.run('DELETE FROM blob_chunk WHERE sha = ?', upload);
      });
    } catch (error) {
      // `sweep` does it later
      await this.#sql.write((tx) => tx.run('DELETE FROM blob_chunk WHERE sha = ?', upload)).catch(() => undefined);
      throw error;
    }
  }

  async get(
    sha: string,
    range?: { start: number; end?: number },
  ): Promise<{ size: number; bytes: AsyncIterable<Uint8Array> } | undefined> {
    if (!isSha(sha)) return undefined;
    const row = await this.#row(sha);
    if (row === undefined) return undefined;
    const size = int(row, 'size');
    const start = range?.start ?? 0;
    const end = Math.min(range?.end ?? size - 1, size - 1);
    return { size, bytes: row['pack'] === null ? this.#chunks(sha, start, end) : this.#packed(row, start, end) };
  }

  async *#chunks(sha: string, start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    for (let n = Math.floor(start / CHUNK); n * CHUNK <= end; n++) {
      const row = await this.#sql.read((db) => db.get('SELECT bytes FROM blob_chunk WHERE sha = ? AND n = ?', sha, n));
      if (row === undefined) {
        // It was moved into a pack, or removed, in the meantime.
        const blob = await this.#row(sha);
        if (blob !== undefined && blob['pack'] !== null) yield* this.#packed(blob, start, end);
        return;
      }
      yield bytes(row, 'bytes').subarray(Math.max(0, start - n * CHUNK), end + 1 - n * CHUNK);
    }
  }

  async *#packed(row: Row, start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
    const blob = await this.#packs.get(row);
    if (blob !== undefined) yield blob.subarray(start, end + 1);
  }

  #row(sha: string): Promise<Row | undefined> {
    return this.#sql.read((db) => db.get('SELECT size, pack, place FROM blob WHERE sha = ?', sha));
  }

  async has(shas: readonly string[]): Promise<Set<string>> {
    const rows = await this.#sql.read((db) =>
      db.all(`SELECT sha, put_at FROM blob WHERE ${db.dialect.anyText('sha')}`, shas),
    );
    // The caller is about to reference them.
    const stale = (await this.#sql.now()) - STALE_MS;
    const old = rows.filter((row) => int(row, 'put_at') < stale).map((row) => text(row, 'sha'));
    if (old.length > 0)
      await this.#sql.write((tx) =>
        tx.run(`UPDATE blob SET put_at = ? WHERE ${tx.dialect.anyText('sha')}`, tx.now, old),
      );
    return new Set(rows.map((row) => text(row, 'sha')));
  }

  async remove(shas: readonly string[]): Promise<number> {
    return this.#sql.write(async (tx) => {
      await tx.run(`DELETE FROM blob_chunk WHERE ${tx.dialect.anyText('sha')}`, shas);
      const rows = await tx.all(`DELETE FROM blob WHERE ${tx.dialect.anyText('sha')} RETURNING pack`, shas);
      await forgetPacked(tx, rows);
      return rows.length;
    });
  }

  async sweep({
    before,
    without,
    needed,
    dryRun,
  }: Parameters<CollectableBlobs['sweep']>[0]): Promise<{ blobs: number; bytes: number }> {
    const { dialect } = this.#sql;
    const unnamed =
      'put_at < ? AND NOT EXISTS (SELECT 1 FROM blob_ref r WHERE r.sha = blob.sha AND NOT ' +
      `(${dialect.anyInt('r.batch')}))`;
    if (dryRun) {
      const rows = await this.#sql.read((db) => db.all(`SELECT sha, size FROM blob WHERE ${unnamed}`, before, without));
      const swept = rows.filter((row) => needed?.has(text(row, 'sha')) !== true);
      return { blobs: swept.length, bytes: swept.reduce((sum, row) => sum + int(row, 'size'), 0) };
    }
    return this.#sql.write(async (tx) => {
      const rows = await tx.all(`DELETE FROM blob WHERE ${unnamed} RETURNING sha, size, pack`, before, without);
      await tx.run(
        `DELETE FROM blob_chunk WHERE ${dialect.anyText('sha')}`,
        rows.map((row) => text(row, 'sha')),
      );
      await forgetPacked(tx, rows);
      await tx.run('DELETE FROM blob_chunk WHERE sha >= ? AND sha < ?', UPLOAD, `${UPLOAD}${tx.now - UPLOAD_MS}`);
      return { blobs: rows.length, bytes: rows.reduce((sum, row) => sum + int(row, 'size'), 0) };
    });
  }
}

/** Splits bytes into chunks of exactly `CHUNK` bytes; the last one may be shorter. */
async function* chunks(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let rest: Uint8Array[] = [];
  let size = 0;
  for await (const piece of content) {
    rest.push(piece);
    size += piece.byteLength;
    if (size < CHUNK) continue;
    let all: Uint8Array = Buffer.concat(rest);
    for (; all.byteLength >= CHUNK; all = all.subarray(CHUNK)) yield all.subarray(0, CHUNK);
    rest = [all];
    size = all.byteLength;
  }
  if (size > 0) yield Buffer.concat(rest);
}

/**
 * Packs: the small blobs of ended rollouts, compressed together. Token records are by far the most blobs, and the
 * attempts of a task have nearly the same ones: apart, each costs its rows and an index, and shares nothing.
 */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import { bytes, int, text } from '../sql/row.ts';
import { BLOB } from '../sql/schema.ts';
import type { Row, Sql, Transaction } from '../sql/sql.ts';

/** Bytes of a pack before compression: readers unpack it as a whole. */
const PACK = 256 * 1024;
/** Larger blobs keep their own rows. */
const MAX_BLOB = 32 * 1024;
/** Names per query. */
const AT_ONCE = 500;
/** Unpacked packs in memory. Readers of a rollout's tokens ask for blobs of the same few packs in turn. */
const KEPT = 8;
const LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

interface SmallBlob {
  readonly sha: string;
  readonly content: Uint8Array;
}

/**
 * Moves blobs into packs, in this order. Skips large blobs, and those that are packed or gone. Safe at any time:
 * readers find a blob in either place, and several servers may pack the same blobs.
 */
export async function packBlobs(sql: Sql, shas: readonly string[]): Promise<void> {
  let pack: SmallBlob[] = [];
  let size = 0;
  for (let at = 0; at < shas.length; at += AT_ONCE)
    for (const blob of await smallBlobs(sql, shas.slice(at, at + AT_ONCE))) {
      pack.push(blob);
      size += blob.content.byteLength;
      if (size < PACK) continue;
      await write(sql, pack);
      pack = [];
      size = 0;
    }
  // A pack of one would only cost another row.
  if (pack.length > 1) await write(sql, pack);
}

async function smallBlobs(sql: Sql, shas: readonly string[]): Promise<SmallBlob[]> {
  const rows = await sql.read((db) =>
    db.all(
      'SELECT b.sha AS sha, c.bytes AS bytes FROM blob b JOIN blob_chunk c ON c.sha = b.sha AND c.n = 0 ' +
        `WHERE ${db.dialect.anyText('b.sha')} AND b.pack IS NULL AND b.size <= ?`,
      shas,
      MAX_BLOB,
    ),
  );
  const found = new Map(rows.map((row) => [text(row, 'sha'), bytes(row, 'bytes')]));
  return shas.flatMap((sha) => {
    const content = found.get(sha);
    found.delete(sha); // several calls may have the same tokens
    return content === undefined ? [] : [{ sha, content }];
  });
}

async function write(sql: Sql, pack: readonly SmallBlob[]): Promise<void> {
  const packed = await compress(Buffer.concat(pack.map(({ content }) => content)), LEVEL);
  const places = new Map<string, number>();
  let end = 0;
  for (const { sha, content } of pack) {
    places.set(sha, end);
    end += content.byteLength;
  }
  await sql.write(async (tx) => {
    const rows = await tx.all(
      `SELECT sha FROM blob WHERE ${tx.dialect.anyText('sha')} AND pack IS NULL ORDER BY sha${tx.dialect.forUpdate}`,
      [...places.keys()],
    );
    const shas = rows.map((row) => text(row, 'sha'));
    if (shas.length === 0) return; // another server was faster
    const inserted = await tx.all(
      'INSERT INTO blob_pack (blobs, bytes) VALUES (?, ?) RETURNING id',
      shas.length,
      new Uint8Array(packed),
    );
    const id = inserted[0] === undefined ? 0 : int(inserted[0], 'id');
    await tx.update(
      BLOB,
      ['sha', 'pack', 'place'],
      shas.map((sha) => [sha, id, places.get(sha) ?? 0]),
    );
    await tx.run(`DELETE FROM blob_chunk WHERE ${tx.dialect.anyText('sha')}`, shas);
  });
}

/** Forgets removed blobs, and removes packs of which none is left. `removed`: rows with `pack`. */
export async function forgetPacked(tx: Transaction, removed: readonly Row[]): Promise<void> {
  const gone = new Map<number, number>();
  for (const row of removed)
    if (row['pack'] !== null) gone.set(int(row, 'pack'), (gone.get(int(row, 'pack')) ?? 0) + 1);
  if (gone.size === 0) return;
  for (const [pack, blobs] of gone) await tx.run('UPDATE blob_pack SET blobs = blobs - ? WHERE id = ?', blobs, pack);
  await tx.run(`DELETE FROM blob_pack WHERE blobs <= 0 AND ${tx.dialect.anyInt('id')}`, [...gone.keys()]);
}

/** Reads packs. IDs are never reused, so a pack in memory is always the right one. */
export class BlobPacks {
  readonly #sql: Sql;
  readonly #kept = new Map<number, Promise<Uint8Array | undefined>>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Returns a blob by the columns of its row; undefined if it was removed in the meantime. */
  async get(row: Row): Promise<Uint8Array | undefined> {
    const place = int(row, 'place');
    return (await this.#unpacked(int(row, 'pack')))?.subarray(place, place + int(row, 'size'));
  }

  #unpacked(id: number): Promise<Uint8Array | undefined> {
    let pack = this.#kept.get(id);
    this.#kept.delete(id);
    if (pack === undefined) {
      pack = this.#read(id);
      pack.catch(() => this.#kept.delete(id));
    }
    this.#kept.set(id, pack);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= KEPT) break;
      this.#kept.delete(oldest);
    }
    return pack;
  }

  async #read(id: number): Promise<Uint8Array | undefined> {
    const row = await this.#sql.read((db) => db.get('SELECT bytes FROM blob_pack WHERE id = ?', id));
    return row === undefined ? undefined : await decompress(bytes(row, 'bytes'));
  }
}

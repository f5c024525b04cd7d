/** Writes a whole store as an archive. */
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import { ARCHIVE_MAGIC, type BackupEnd, frameBytes } from '../../protocol/archive.ts';
import { CHUNK } from '../blobs/rowBlobs.ts';
import { int } from '../sql/row.ts';
import { BLOB, BLOB_CHUNK, STORE_VERSION } from '../sql/schema.ts';
import type { Reader, Row, Sql, Value } from '../sql/sql.ts';
import { rowsFrame } from './codec.ts';
import { ARCHIVED, type ArchivedTable } from './tables.ts';

/** Blobs outside of the database. */
export interface BlobFiles {
  files(): AsyncIterable<{ readonly sha: string; readonly size: number }>;
  get(sha: string): Promise<{ size: number; bytes: AsyncIterable<Uint8Array> } | undefined>;
}

interface BackupOptions {
  /** Resolves when more can be written. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  readonly signal: AbortSignal;
  /** Absent if the database has all blobs. */
  readonly files: BlobFiles | undefined;
}

/** See `ArchiveStore.backup`. */
export async function backup(sql: Sql, options: BackupOptions): Promise<void> {
  const created = await sql.now();
  await sql.snapshot(async (db) => {
    const out = new BackupWriter(options);
    await out.bytes(Buffer.from(ARCHIVE_MAGIC));
    const batches = await db.get('SELECT count(*) AS n FROM batch');
    const rollouts = await db.get('SELECT count(*) AS n FROM rollout');
    await out.frame(
      frameBytes({
        kind: 'archive',
        store_version: STORE_VERSION,
        product: PRODUCT,
        created_at: created,
        batches: int(batches ?? {}, 'n'),
        rollouts: int(rollouts ?? {}, 'n'),
        size: 0,
      }),
    );
    for (const archived of ARCHIVED) {
      await writeTable(db, out, archived);
      if (archived.table === BLOB_CHUNK && options.files !== undefined) await writeFiles(db, out, options.files);
    }
    await out.end();
  });
}

class BackupWriter {
  readonly #options: BackupOptions;
  readonly #hash = createHash('sha256');
  readonly #rows: Record<string, number> = {};
  #frames = 0;

  constructor(options: BackupOptions) {
    this.#options = options;
  }

  async bytes(bytes: Uint8Array): Promise<void> {
    if (this.#options.signal.aborted) throw new StudioError('cancelled', 'The backup was canceled.');
    this.#hash.update(bytes);
    await this.#options.write(bytes);
  }

  async frame(bytes: Uint8Array): Promise<void> {
    this.#frames += 1;
    await this.bytes(bytes);
    await turn(); // others get their turn between two frames
  }

  async rows({ table }: ArchivedTable, rows: readonly Row[]): Promise<void> {
    this.#rows[table.name] = (this.#rows[table.name] ?? 0) + rows.length;
    await this.frame(await rowsFrame(table, Object.keys(table.columns), rows));
  }

  async end(): Promise<void> {
    const end: BackupEnd = {
      kind: 'end',
      frames: this.#frames,
      rows: this.#rows,
      sha256: this.#hash.digest('hex'),
      size: 0,
    };
    await this.#options.write(frameBytes(end));
  }
}

async function writeTable(db: Reader, out: BackupWriter, archived: ArchivedTable): Promise<void> {
  for await (const rows of pagesOf(db, archived)) await out.rows(archived, rows);
}

/** Yields the rows of a table by its key. */
async function* pagesOf(db: Reader, { table, key, rows: most }: ArchivedTable): AsyncGenerator<readonly Row[]> {
  const columns = Object.keys(table.columns).join(', ');
  const order = key.join(', ');
  const tuple = key.length === 1 ? order : `(${order})`;
  const values = key.length === 1 ? '?' : `(${key.map(() => '?').join(', ')})`;
  let after: Value[] = [];
  for (;;) {
    const where = after.length === 0 ? '' : ` WHERE ${tuple} > ${values}`;
    const rows = await db.all(`SELECT ${columns} FROM ${table.name}${where} ORDER BY ${order} LIMIT ?`, ...after, most);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows;
    if (rows.length < most) return;
    after = key.map((column) => last[column] as Value); // the key is text or a number
  }
}

/** Writes blobs that are files, if a batch refers to them, as rows: a store restored from them has them as rows. */
async function writeFiles(db: Reader, out: BackupWriter, files: BlobFiles): Promise<void> {
  const [blob, chunk] = [of(BLOB.name), of(BLOB_CHUNK.name)];
  for await (const { sha, size } of files.files()) {
    const reference = await db.get('SELECT sha FROM blob_ref WHERE sha = ? LIMIT 1', sha);
    const row = await db.get('SELECT sha FROM blob WHERE sha = ?', sha);
    if (reference === undefined || row !== undefined) continue;
    const content = await files.get(sha);
    if (content === undefined) throw new StudioError('storage', `The blob ${sha} was removed during the backup.`);
    let n = 0;
    for await (const bytes of chunked(content.bytes)) await out.rows(chunk, [{ sha, n: n++, bytes }]);
    await out.rows(blob, [{ sha, size, put_at: 0, pack: null, place: null }]);
  }
}

function of(name: string): ArchivedTable {
  const found = ARCHIVED.find(({ table }) => table.name === name);
  if (found === undefined) throw new Error(`${name} is not archived`);
  return found;
}

async function* chunked(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array = new Uint8Array();
  for await (const bytes of content) {
    pending = pending.byteLength === 0 ? bytes : Buffer.concat([pending, bytes]);
    for (; pending.byteLength >= CHUNK; pending = pending.subarray(CHUNK)) yield pending.subarray(0, CHUNK);
  }
  if (pending.byteLength > 0) yield pending;
}

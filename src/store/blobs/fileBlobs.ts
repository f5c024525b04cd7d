import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import { text } from '../sql/row.ts';
import type { Sql } from '../sql/sql.ts';
import { type CollectableBlobs, checkContent, isSha, STALE_MS, UPLOAD_MS } from './content.ts';

/** Names per query while sweeping. */
const NAMES_PER_QUERY = 500;

/**
 * Stores blobs as files `ab/<sha>`: writes a temporary file, syncs, and renames it, so that an existing file is
 * complete. A file's modification time is when the blob was last written or queried.
 */
export class FileBlobs {
  readonly #folder: string;
  readonly #sql: Sql;
  readonly #folders = new Set<string>();

  constructor(folder: string, sql: Sql) {
    this.#folder = folder;
    this.#sql = sql;
  }

  async put(sha: string, content: AsyncIterable<Uint8Array>): Promise<void> {
    const uploads = path.join(this.#folder, 'tmp');
    await this.#make(uploads);
    const upload = path.join(uploads, `${sha}-${randomBytes(6).toString('hex')}`);
    try {
      const hash = createHash('sha256');
      const file = await open(upload, 'wx', 0o600);
      try {
        for await (const bytes of content) {
          hash.update(bytes);
          await file.writeFile(bytes);
        }
        await file.sync();
      } finally {
        await file.close();
      }
      checkContent(sha, hash.digest('hex'));
      const target = this.#path(sha);
      await this.#make(path.dirname(target));
      await rename(upload, target).catch(async (error: unknown) => {
        // Windows cannot replace a file that is being read, but its content is the same.
        if ((await this.#stat(sha)) === undefined) throw error;
        await rm(upload, { force: true });
      });
      await syncFolder(path.dirname(target));
    } catch (error) {
      await rm(upload, { force: true }).catch(() => undefined); // `sweep` does it later
      throw error;
    }
  }

  async get(
    sha: string,
    range?: { start: number; end?: number },
  ): Promise<{ size: number; bytes: AsyncIterable<Uint8Array> } | undefined> {
    const found = await this.#stat(sha);
    if (found === undefined) return undefined;
    const start = range?.start ?? 0;
    const end = Math.min(range?.end ?? found.size - 1, found.size - 1);
    return { size: found.size, bytes: read(this.#path(sha), start, end) };
  }

  /** Yields all blobs, by name. */
  async *files(): AsyncGenerator<{ sha: string; size: number }> {
    for (const folder of (await entries(this.#folder)).sort()) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      for (const name of (await entries(path.join(this.#folder, folder))).sort()) {
        const found = await this.#stat(name);
        if (found !== undefined) yield { sha: name, size: found.size };
      }
    }
  }

  async has(shas: readonly string[]): Promise<Set<string>> {
    const existing = new Set<string>();
    const now = new Date();
    for (const sha of shas) {
      const found = await this.#stat(sha);
      if (found === undefined) continue;
      existing.add(sha);
      // The caller is about to reference it.
      if (found.mtimeMs < now.getTime() - STALE_MS)
        await utimes(this.#path(sha), now, now).catch(() => existing.delete(sha));
    }
    return existing;
  }

  async remove(shas: readonly string[]): Promise<number> {
    let removed = 0;
    for (const sha of shas) removed += (await this.#remove(sha)) ? 1 : 0;
    return removed;
  }

  async sweep({
    before,
    without,
    needed,
    dryRun,
  }: Parameters<CollectableBlobs['sweep']>[0]): Promise<{ blobs: number; bytes: number }> {
    let blobs = 0;
    let bytes = 0;
    let pending: string[] = [];
    const sweepPending = async (): Promise<void> => {
      const shas = pending;
      pending = [];
      const rows = await this.#sql.read((db) =>
        db.all(
          `SELECT DISTINCT sha FROM blob_ref WHERE ${db.dialect.anyText('sha')} AND NOT ` +
            `(${db.dialect.anyInt('batch')})`,
          shas,
          without,
        ),
      );
      const referenced = new Set(rows.map((row) => text(row, 'sha')));
      for (const sha of shas) {
        const found = referenced.has(sha) || needed?.has(sha) === true ? undefined : await this.#stat(sha);
        if (found === undefined || found.mtimeMs >= before) continue;
        if (!dryRun && !(await this.#remove(sha))) continue;
        blobs += 1;
        bytes += found.size;
      }
    };
    for (const folder of await entries(this.#folder)) {
      if (!/^[0-9a-f]{2}$/.test(folder)) continue;
      for (const name of await entries(path.join(this.#folder, folder))) {
        if (isSha(name)) pending.push(name);
        if (pending.length >= NAMES_PER_QUERY) await sweepPending();
      }
    }
    await sweepPending();
    if (!dryRun) await this.#removeUploads();
    return { blobs, bytes };
  }

  async #removeUploads(): Promise<void> {
    const uploads = path.join(this.#folder, 'tmp');
    for (const name of await entries(uploads)) {
      const file = path.join(uploads, name);
      const found = await stat(file).catch(() => undefined);
      if (found !== undefined && found.mtimeMs < Date.now() - UPLOAD_MS) await rm(file, { force: true });
    }
  }

  async #remove(sha: string): Promise<boolean> {
    if (!isSha(sha)) return false;
    return unlink(this.#path(sha)).then(() => true, absent);
  }

  async #stat(sha: string): Promise<{ size: number; mtimeMs: number } | undefined> {
    if (!isSha(sha)) return undefined;
    return stat(this.#path(sha)).catch((error: unknown) => {
      absent(error);
      return undefined;
    });
  }

  #path(sha: string): string {
    return path.join(this.#folder, sha.slice(0, 2), sha);
  }

  async #make(folder: string): Promise<void> {
    if (this.#folders.has(folder)) return;
    await mkdir(folder, { recursive: true });
    await syncFolder(path.dirname(folder));
    this.#folders.add(folder);
  }
}

async function* read(file: string, start: number, end: number): AsyncGenerator<Uint8Array, void, undefined> {
  if (end < start) return;
  const stream: AsyncIterable<Uint8Array> = createReadStream(file, { start, end });
  yield* stream;
}

/** Syncs a folder, so that a new file name survives a power failure. Windows does not support or need this. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    absent(error);
    return [];
  });
}

/** Returns false for a missing file; throws other errors. */
function absent(error: unknown): false {
  if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return false;
  throw error;
}

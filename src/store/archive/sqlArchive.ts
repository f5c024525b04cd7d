import type { ArchiveFrame, BeginRestore, CopyState, RestoreResult } from '../../protocol/archive.ts';
import type { ArchiveStore, CopiedPage } from '../archiveStore.ts';
import { removeIncomplete } from '../logic/gc.ts';
import type { Packer } from '../logic/packing.ts';
import type { Sql } from '../sql/sql.ts';
import type { BlobStore } from '../store.ts';
import { type BlobFiles, backup } from './backup.ts';
import { copyState, incompleteCopies, receiveCopy, requireOwnCopy } from './copyIn.ts';
import { copyPage } from './copyOut.ts';
import { begin, end, restoreFrames } from './restore.ts';

interface ArchiveParts {
  readonly sql: Sql;
  readonly blobs: BlobStore;
  /** Absent if the database has all blobs. */
  readonly files: BlobFiles | undefined;
  readonly packer: Packer;
  /** Display name of the store. */
  readonly store: string;
}

/** Implements archives for both stores. */
export class SqlArchive implements ArchiveStore {
  readonly #parts: ArchiveParts;

  constructor(parts: ArchiveParts) {
    this.#parts = parts;
  }

  backup(write: (bytes: Uint8Array) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { sql, files } = this.#parts;
    return backup(sql, { write, signal, files });
  }

  beginRestore(archive: BeginRestore): Promise<{ frames: number }> {
    return begin(this.#parts.sql, this.#parts.store, archive);
  }

  restore(sha256: string, from: number, frames: readonly ArchiveFrame[]): Promise<{ frames: number }> {
    return restoreFrames(this.#parts.sql, sha256, from, frames);
  }

  async endRestore(sha256: string, resume: boolean): Promise<RestoreResult> {
    const result = await end(this.#parts.sql, sha256, resume);
    this.#parts.packer.schedule();
    return result;
  }

  async copyPage(batch: string, after: string | undefined): Promise<Uint8Array[]> {
    const { sql, blobs, packer } = this.#parts;
    // Packing moves the boundaries between rows of events, where pages begin.
    if (after === undefined) await packer.run();
    return copyPage(sql, blobs, batch, after);
  }

  copyState(batch: string): Promise<CopyState> {
    return this.#parts.sql.read((db) => copyState(db, batch));
  }

  receiveCopy(page: CopiedPage): Promise<CopyState> {
    return receiveCopy(this.#parts.sql, this.#parts.blobs, page);
  }

  async dropCopy(batch: string, user: string | undefined): Promise<void> {
    const { sql } = this.#parts;
    await sql.read((db) => requireOwnCopy(db, batch, user));
    await removeIncomplete(sql, await sql.read((db) => incompleteCopies(db, { batch })));
  }
}

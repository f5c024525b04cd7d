/** Backups of a store, and copies of batches between stores. See `protocol/archive.ts` for the format. */
import type { ArchiveFrame, BeginRestore, CopyState, RestoreResult } from '../protocol/archive.ts';

export interface ArchiveStore {
  /**
   * Writes everything that is committed when it begins, in one consistent state, while the store is used. `write`
   * resolves when more can be written. `gc` waits until it has ended.
   */
  backup(write: (bytes: Uint8Array) => Promise<void>, signal: AbortSignal): Promise<void>;
  /**
   * Begins to restore an archive into an empty store, or continues a restore of the same archive. Returns how many
   * frames are restored. Nothing of it is visible before `endRestore`. Throws `conflict` if the store is not empty, and
   * `version` for an archive of a newer version.
   */
  beginRestore(archive: BeginRestore): Promise<{ frames: number }>;
  /** Restores the frames after the first `from`. Returns how many are restored. Frames that were are skipped. */
  restore(sha256: string, from: number, frames: readonly ArchiveFrame[]): Promise<{ frames: number }>;
  /**
   * Ends a restore. What workers of the original were doing is queued again; unless `resume`, batches that have not
   * ended are paused, without workers.
   */
  endRestore(sha256: string, resume: boolean): Promise<RestoreResult>;

  /**
   * Returns a page of a copy of an ended batch, from `after`: `next` of the previous page. Throws `conflict` if the
   * batch has not ended.
   */
  copyPage(batch: string, after: string | undefined): Promise<Uint8Array[]>;
  /** Returns what this store has of a copy. */
  copyState(batch: string): Promise<CopyState>;
  /**
   * Adds a page to a copy. The batch is visible once its last page is there. Throws `conflict` if the page does not
   * follow the previous one, or is of another revision of the batch.
   */
  receiveCopy(page: CopiedPage): Promise<CopyState>;
  /** Removes an incomplete copy. Throws `conflict` if it is that of another user. */
  dropCopy(batch: string, user: string | undefined): Promise<void>;
}

export interface CopiedPage {
  readonly batch: string;
  readonly after: string | undefined;
  readonly frames: readonly ArchiveFrame[];
  /** Who copies it. undefined: whoever has a client token. */
  readonly user: string | undefined;
  /** Whether it still belongs to its owner, and is shared as it was. */
  readonly keepOwner: boolean;
  /** Returns which of these blobs are stored, and may be used by who copies. */
  readonly usable: (shas: readonly string[]) => Promise<Set<string>>;
}

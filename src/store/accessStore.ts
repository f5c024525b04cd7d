/** Whose batches are, who may read them, and who did what. */

/** Whom a batch is shared with: everybody who may read at all, or these users. */
export type Shared = 'everyone' | readonly string[];

/** The first part of the users for whom `SharingStore` decides: those who see neither all batches nor none. */
export interface SharingStore {
  /** Replaces whom a batch is shared with. Throws `conflict` for a batch that belongs to nobody. */
  share(batch: string, shared: Shared): Promise<void>;
  /**
   * Returns which of these blobs a user may have: a batch refers to them that the user may read, or reads, or the user
   * has uploaded them lately. Whoever only knows a hash may not.
   */
  readable(user: string, shas: readonly string[]): Promise<Set<string>>;
  /** Notes that a user has sent the whole content of a blob. It counts for a day. */
  uploaded(user: string, sha: string): Promise<void>;
}

/** What somebody did at the server. */
export interface NewAuditEntry {
  /** Absent: whoever has a client token. */
  readonly user?: string;
  /** E.g. `launch`, `pause`, `fork`, `export`. */
  readonly what: string;
  readonly batch?: string;
  /** `done`, or the code of the error. */
  readonly result: string;
  /** More about it, such as the missing right or the rollout. */
  readonly detail?: string;
}

export interface AuditEntry extends NewAuditEntry {
  /** Grows with each entry. */
  readonly id: number;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number;
}

export interface AuditPage {
  readonly user?: string;
  readonly batch?: string;
  /** Only entries of this time or later. */
  readonly since?: number;
  /** Only entries before the one with this ID. */
  readonly before?: number;
  readonly limit: number;
}

/** The newest entries; older ones make room. */
export interface AuditStore {
  add(entry: NewAuditEntry): Promise<void>;
  /** Newest first. */
  list(page: AuditPage): Promise<AuditEntry[]>;
}

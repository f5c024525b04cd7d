/** What trainers announced about model endpoints, and what workers call: kept in the store, for all its servers. */

/** Watchers get this ID when an endpoint's record changed. */
export const ENDPOINTS_CHANGED = 'endpoints';
/** Watchers get this ID when a worker confirmed a record, or reported its calls to a paused endpoint. */
export const ENDPOINT_CALLS = 'endpoint-calls';

export type PauseMode = 'wait' | 'abort';

export interface EndpointRecord {
  /** See `endpointKey`. */
  readonly endpoint: string;
  /** If the record is about one replica: its name, and the key of its own URL. Absent: all replicas. */
  readonly replica?: { readonly name: string; readonly url: string };
  /** Whether no call may start. */
  readonly paused: boolean;
  readonly mode: PauseMode;
  /** The version of the weights, if one was announced, and the revision of that announcement. */
  readonly version?: number;
  readonly versionRev: number;
  /** Who paused or resumed it last, and when. */
  readonly by: string;
  readonly since: number;
  /** How long a pause may take before it is reported to people. */
  readonly limitMs: number;
  /** Whether it was. */
  readonly reported: boolean;
  /** Grows with each change of any record. */
  readonly rev: number;
}

export interface EndpointChange {
  readonly endpoint: string;
  readonly replica?: EndpointRecord['replica'];
  readonly paused: boolean;
  readonly mode: PauseMode;
  readonly version?: number | undefined;
  /** Whether the version may be older than the current one. */
  readonly force: boolean;
  readonly by: string;
  readonly limitMs: number;
}

/** Calls of one worker to one endpoint, or to one replica (the key of its URL) of it. */
export interface EndpointCalls {
  readonly endpoint: string;
  readonly replica?: string | undefined;
  readonly calls: number;
}

/** What a worker reported last. */
export interface SessionCalls {
  readonly session: string;
  readonly batch: string;
  /** The newest revision of the records that it follows. */
  readonly rev: number;
  readonly calls: readonly EndpointCalls[];
}

export interface EndpointStore {
  /** Returns all records. */
  list(): Promise<EndpointRecord[]>;
  /**
   * Changes a record, or creates it. A change that changes nothing has no new revision. A change of all replicas
   * replaces what was announced about single ones. Throws `conflict` for a version older than the current one, unless
   * forced.
   */
  set(change: EndpointChange): Promise<EndpointRecord>;
  /** Records what the worker of an open session reports. Does nothing for another session. */
  report(session: string, report: Pick<SessionCalls, 'rev' | 'calls'>): Promise<void>;
  /** Returns what the workers of all open sessions reported last. */
  calls(): Promise<SessionCalls[]>;
  /** Marks a pause as reported to people. Returns true only the first time. */
  markReported(pause: EndpointRecord): Promise<boolean>;
}

/** Returns the version of the weights of an endpoint, or of the replica at `url`: the newest announcement counts. */
export function versionOf(records: readonly EndpointRecord[], endpoint: string, url?: string): number | undefined {
  let newest: EndpointRecord | undefined;
  for (const record of records) {
    if (record.endpoint !== endpoint || record.version === undefined) continue;
    if (record.replica !== undefined && record.replica.url !== url) continue;
    if (newest === undefined || record.versionRev > newest.versionRev) newest = record;
  }
  return newest?.version;
}

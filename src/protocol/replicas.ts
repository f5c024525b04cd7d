/** The replicas of a model behind one endpoint. A cluster discovers them; the server shares its permits among them. */

/** One server that accepts calls. */
export interface Replica {
  /** The endpoint's URL, with the address and port of this replica. */
  readonly url: string;
  /** The name of its pod, for people. */
  readonly name: string;
  /** Unique: a later replica at the same address has another ID. */
  readonly id: string;
}

/** What is known of an endpoint that has replicas. */
export interface Replicas {
  /** Those that accept calls, by URL. */
  readonly ready: readonly Replica[];
  /** IDs of those that are about to end: they get no new calls, and answer the calls that they have. */
  readonly draining: ReadonlySet<string>;
}

export interface ReplicaSource {
  /**
   * Reports the replicas behind `endpoint`, as soon as they are known and whenever they change, until the returned
   * function is called. Reports undefined if the endpoint is one server. Returns undefined if it cannot have replicas.
   */
  follow(endpoint: string, report: (replicas: Replicas | undefined) => void): (() => void) | undefined;
}

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

export interface ReplicaSource {
  /**
   * Reports the ready replicas behind `endpoint`, as soon as they are known and whenever they change, until the
   * returned function is called. Reports undefined if the endpoint is one server. Returns undefined if it cannot have
   * replicas.
   */
  follow(endpoint: string, report: (replicas: readonly Replica[] | undefined) => void): (() => void) | undefined;
}

/** The replicas of a model behind one endpoint: found in a cluster, used by the server that shares its permits. */

/** One place that takes calls. */
export interface Replica {
  /** As the endpoint, with the address and the port of this replica. */
  readonly url: string;
  /** For people: the name of its pod. */
  readonly name: string;
  /** What comes later at the same address has another. */
  readonly id: string;
}

export interface ReplicaSource {
  /**
   * Tells who takes calls behind `endpoint`, as soon as it is known and whenever it changes, until the function that it
   * gives is called. Told undefined: it is one place. Gives undefined where it can be nothing else.
   */
  follow(endpoint: string, tell: (replicas: readonly Replica[] | undefined) => void): (() => void) | undefined;
}

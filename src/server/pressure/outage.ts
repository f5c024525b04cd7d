/** Shorter outages are not reported. */
const REPORT_AFTER_MS = 1_500;

/** Tracks an outage of one endpoint, and which batches were notified of it. */
export class EndpointOutage {
  #since: number | undefined;
  readonly #notified = new Set<string>();

  /** Records that the endpoint is not available. Returns the batches to notify; none while the outage is short. */
  newlyAffected(batches: Iterable<string>, now: number): string[] {
    this.#since ??= now;
    if (now - this.#since < REPORT_AFTER_MS) return [];
    const affected = [...batches].filter((batch) => !this.#notified.has(batch));
    for (const batch of affected) this.#notified.add(batch);
    return affected;
  }

  /** Records that the endpoint is available. Returns the batches that were notified of the outage. */
  end(): string[] {
    const notified = [...this.#notified];
    this.#notified.clear();
    this.#since = undefined;
    return notified;
  }

  /** Forgets a batch that no longer uses the endpoint. */
  forget(batch: string): void {
    this.#notified.delete(batch);
  }
}

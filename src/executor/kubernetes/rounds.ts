/** The current Jobs of all batches in the cluster. */

import type { Job } from '../../kubernetes/access/objects.ts';
import { batchOf, type Round, readRound } from './jobRounds.ts';

export class Rounds {
  /** Rounds by batch and name of the Job. */
  readonly #byBatch = new Map<string, Map<string, Round>>();
  /** The highest number of each batch, including deleted Jobs. */
  readonly #last = new Map<string, number>();

  /** Replaces the list of Jobs. */
  replace(jobs: readonly Job[]): void {
    this.#byBatch.clear();
    for (const job of jobs) this.see(job);
  }

  /** Adds or updates a Job. Returns its batch, or undefined for a Job of somebody else. */
  see(job: Job): string | undefined {
    const batch = batchOf(job);
    const round = readRound(job);
    if (batch === undefined || round === undefined) return undefined;
    let rounds = this.#byBatch.get(batch);
    if (rounds === undefined) this.#byBatch.set(batch, (rounds = new Map<string, Round>()));
    // A watch may report an older state than the answer to a change.
    const known = rounds.get(round.name);
    if (known === undefined || known.uid !== round.uid || known.generation <= round.generation)
      rounds.set(round.name, round);
    this.#last.set(batch, Math.max(this.last(batch), round.round));
    return batch;
  }

  remove(job: Job): string | undefined {
    const batch = batchOf(job);
    if (batch === undefined) return undefined;
    const rounds = this.#byBatch.get(batch);
    rounds?.delete(job.metadata.name);
    if (rounds?.size === 0) this.#byBatch.delete(batch);
    return batch;
  }

  of(batch: string): Round[] {
    return [...(this.#byBatch.get(batch)?.values() ?? [])];
  }

  /** Returns the active Job of a batch. */
  active(batch: string): Round | undefined {
    return this.of(batch).find(({ state }) => state === 'active');
  }

  last(batch: string): number {
    return this.#last.get(batch) ?? 0;
  }

  batches(): string[] {
    return [...this.#byBatch.keys()];
  }

  /** Returns the batch of a Job, by its name. */
  batchOf(name: string): string | undefined {
    for (const [batch, rounds] of this.#byBatch) if (rounds.has(name)) return batch;
    return undefined;
  }
}

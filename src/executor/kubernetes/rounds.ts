/** The Jobs of all batches as the cluster has them now. */

import type { Job } from '../../kubernetes/access/objects.ts';
import { batchOf, type Round, readRound } from './jobRounds.ts';

export class Rounds {
  /** By batch, then by the name of the Job. */
  readonly #byBatch = new Map<string, Map<string, Round>>();
  /** The highest number of each batch, also of Jobs that are gone. */
  readonly #last = new Map<string, number>();

  /** All Jobs there are. */
  replace(jobs: readonly Job[]): void {
    this.#byBatch.clear();
    for (const job of jobs) this.see(job);
  }

  /** Gives the batch it belongs to; undefined: it is none of ours. */
  see(job: Job): string | undefined {
    const batch = batchOf(job);
    const round = readRound(job);
    if (batch === undefined || round === undefined) return undefined;
    let rounds = this.#byBatch.get(batch);
    if (rounds === undefined) this.#byBatch.set(batch, (rounds = new Map<string, Round>()));
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

  /** The one that is at work. */
  active(batch: string): Round | undefined {
    return this.of(batch).find(({ state }) => state === 'active');
  }

  last(batch: string): number {
    return this.#last.get(batch) ?? 0;
  }

  batches(): string[] {
    return [...this.#byBatch.keys()];
  }

  /** The batch of a Job, by its name. */
  batchOf(name: string): string | undefined {
    for (const [batch, rounds] of this.#byBatch) if (rounds.has(name)) return batch;
    return undefined;
  }
}

/** How many pods a batch may have under the limits of its user and its queue, and those that it is about to get. */
import type { PodShares } from '../executor.ts';
import type { Rounds } from './rounds.ts';

/** What the limits leave to a batch: how many pods it may have in all, and why no more. */
export interface PodLimit {
  readonly pods: number;
  readonly text: string;
}

interface PodCounts {
  readonly has: number;
  readonly wants: number;
}

interface AllowedPodsInput {
  readonly shares: PodShares | undefined;
  readonly batches: ReadonlyMap<string, { readonly pods: PodCounts }>;
  /** Pods that have not ended, by batch. */
  readonly live: ReadonlyMap<string, number>;
  readonly rounds: Rounds;
  /** Returns whether this server saw the end of a batch. */
  readonly hasEnded: (batch: string) => boolean;
}

/**
 * Returns how many pods the Job of a batch may have; undefined if nothing limits that. Pods that are leaving count,
 * also those of earlier Jobs and of batches that have ended.
 */
export function allowedPods(id: string, input: AllowedPodsInput): PodLimit | undefined {
  const { shares, batches, live, rounds, hasEnded } = input;
  const counts = new Map<string, PodCounts>([...live].map(([batch, has]) => [batch, { has, wants: has }]));
  for (const [batch, { pods }] of batches) {
    const has = Math.max(pods.has, live.get(batch) ?? 0);
    counts.set(batch, { has, wants: Math.max(pods.wants, has) });
  }
  const allowed = shares?.allowed(id, counts);
  if (allowed === undefined) return undefined;
  // After a restart, the batches of the Jobs that there are are not all read at once.
  const isRead = (batch: string): boolean =>
    batches.has(batch) || hasEnded(batch) || rounds.active(batch) === undefined;
  const more = rounds.batches().every(isRead) ? allowed.pods - (counts.get(id)?.has ?? 0) : 0;
  return { ...allowed, pods: (batches.get(id)?.pods.has ?? 0) + Math.max(0, more) };
}

export class PodAllowance {
  /** Returns undefined if nothing limits the batch. */
  readonly #limit: () => PodLimit | undefined;
  #coming = 0;
  #text: string | undefined;

  constructor(limit: () => PodLimit | undefined) {
    this.#limit = limit;
  }

  /** Pods of the Job that is being created or changed. */
  get coming(): number {
    return this.#coming;
  }

  /** Why the batch has fewer pods than it could have. */
  get text(): string | undefined {
    return this.#text;
  }

  get isLimited(): boolean {
    return this.#limit() !== undefined;
  }

  /** Returns how many of the pods that the batch could have it may have now, and notes why not all. */
  of(wanted: number): number {
    const limit = this.#limit();
    const allowed = Math.min(wanted, limit?.pods ?? wanted);
    this.#text = allowed < wanted ? limit?.text : undefined;
    return allowed;
  }

  /** Counts pods as those of the batch while its Job gets them, so that no other batch takes them. */
  async while<T>(pods: number, work: () => Promise<T>): Promise<T> {
    this.#coming = pods;
    try {
      return await work();
    } finally {
      this.#coming = 0;
    }
  }
}

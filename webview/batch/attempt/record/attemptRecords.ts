/** Keeps the events of the attempts that were shown last. */
import type { AttemptReader } from './attemptReader.ts';

const KEPT = 30;

export interface RecordEntry {
  readonly reader: AttemptReader;
  problem: string | undefined;
}

/** Records of the attempts that were shown last, oldest first. */
export class AttemptRecords {
  readonly #kept = new Map<string, RecordEntry>();

  /** Makes a record the newest. */
  keep(rollout: string, entry: RecordEntry): void {
    this.#kept.delete(rollout);
    this.#kept.set(rollout, entry);
    for (const oldest of this.#kept.keys()) if (this.#kept.size > KEPT) this.#kept.delete(oldest);
  }

  get(rollout: string): RecordEntry | undefined {
    return this.#kept.get(rollout);
  }
}

import type { ProcessGroups } from '../processes/processGroups.ts';
import { killTree } from '../processes/processTree.ts';

/** The processes that a rollout's module started: what is left of them ends with the rollout, or with the worker. */
export class Children {
  readonly #groups: ProcessGroups;
  readonly #running = new Set<number>();
  #closed = false;

  constructor(groups: ProcessGroups) {
    this.#groups = groups;
  }

  /** Told by the module's thread. */
  readonly tell = (pid: number, alive: boolean): void => {
    if (alive && !this.#closed) {
      this.#running.add(pid);
      this.#groups.add(pid);
      return;
    }
    // Also what its end left behind.
    killTree(pid);
    this.#running.delete(pid);
    this.#groups.remove(pid);
  };

  close(): void {
    this.#closed = true;
    for (const pid of this.#running) this.tell(pid, false);
  }
}

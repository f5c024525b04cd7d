import { type ProcessGroups, RolloutProcesses } from '../processes/processGroups.ts';
import { killTree } from '../processes/processTree.ts';
import { markOf } from '../processes/strays.ts';

/** The processes that a rollout's module started: what is left of them ends with the rollout, or with the worker. */
export class Children {
  /** The variable that they are known by. */
  readonly mark: string;
  readonly #processes: RolloutProcesses;
  readonly #running = new Set<number>();
  #closed = false;

  constructor(groups: ProcessGroups) {
    this.#processes = new RolloutProcesses(groups);
    this.mark = markOf(this.#processes.owner);
  }

  /** Told by the module's thread. */
  readonly tell = (pid: number, alive: boolean): void => {
    if (alive && !this.#closed) {
      this.#running.add(pid);
      this.#processes.add(pid);
      return;
    }
    // Also what its end left behind.
    killTree(pid);
    this.#running.delete(pid);
    this.#processes.remove(pid);
  };

  async close(): Promise<void> {
    this.#closed = true;
    for (const pid of this.#running) this.tell(pid, false);
    await this.#processes.end();
  }
}

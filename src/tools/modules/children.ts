import { type ProcessGroups, RolloutProcesses } from '../processes/processGroups.ts';
import { killTree } from '../processes/processTree.ts';
import { markOf } from '../processes/strays.ts';

/** Processes started by a rollout's module. Remaining ones end with the rollout or the worker. */
export class Children {
  /** Environment variable that identifies them. */
  readonly mark: string;
  readonly #processes: RolloutProcesses;
  readonly #running = new Set<number>();
  #closed = false;

  constructor(groups: ProcessGroups) {
    this.#processes = new RolloutProcesses(groups);
    this.mark = markOf(this.#processes.owner);
  }

  /** Called when the module's thread reports that a process started or ended. */
  readonly update = (pid: number, alive: boolean): void => {
    if (alive && !this.#closed) {
      this.#running.add(pid);
      this.#processes.add(pid);
      return;
    }
    // Also ends remaining children.
    killTree(pid);
    this.#running.delete(pid);
    this.#processes.remove(pid);
  };

  async close(): Promise<void> {
    this.#closed = true;
    for (const pid of this.#running) this.update(pid, false);
    await this.#processes.end();
  }
}

import { endStrays, newOwner } from './strays.ts';

/** Who ends what is left of a process when its parent dies: the worker's reaper. Ids are those of group leaders. */
export interface ProcessGroups {
  /** Whose the processes are: the mark in their environment (strays.ts). */
  readonly owner: string;
  add(pid: number): void;
  remove(pid: number): void;
}

/** Those of one rollout, among those of its worker; or some of a rollout's. */
export class RolloutProcesses implements ProcessGroups {
  readonly owner: string;
  readonly #groups: ProcessGroups;
  #used = false;

  constructor(groups: ProcessGroups) {
    this.#groups = groups;
    this.owner = newOwner(groups.owner);
  }

  add(pid: number): void {
    this.#used = true;
    this.#groups.add(pid);
  }

  remove(pid: number): void {
    this.#groups.remove(pid);
  }

  /** Ends what has left its group; the groups are ended by whoever started them. */
  async end(): Promise<void> {
    if (this.#used) await endStrays(this.owner);
  }
}

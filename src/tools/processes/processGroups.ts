import { endStrays, newOwner } from './strays.ts';

/** Registry of the worker's reaper, which ends process groups when the worker dies. IDs are those of group leaders. */
export interface ProcessGroups {
  /** Owner of the processes: the mark in their environment (strays.ts). */
  readonly owner: string;
  add(pid: number): void;
  remove(pid: number): void;
}

/** The process groups of one rollout or a part of it. */
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

  /** Ends processes that have left their groups; the groups themselves are ended by their creators. */
  async end(): Promise<void> {
    if (this.#used) await endStrays(this.owner);
  }
}

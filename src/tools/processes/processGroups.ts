import type { SubmittedSandbox } from '../../config/submission.ts';
import type { Sandbox, View } from '../sandbox/sandbox.ts';
import { endStrays, newOwner } from './strays.ts';

/** Runs programs in another container. */
export interface ToolServer {
  /** Opens a sandbox there. Throws StudioError as `openSandbox`. */
  openSandbox(policy: Pick<SubmittedSandbox, 'mode'>, view: View, owner: string): Promise<Sandbox>;
  /** Ends processes of the owner that have left their groups. */
  endStrays(owner: string): Promise<void>;
  /** Removes what programs left in a folder, as their user. */
  clear(folder: string): Promise<void>;
}

/** Registry of the worker's reaper, which ends process groups when the worker dies. IDs are those of group leaders. */
export interface ProcessGroups {
  /** Owner of the processes: the mark in their environment (strays.ts). */
  readonly owner: string;
  /** Where programs run, if not here. */
  readonly toolServer?: ToolServer | undefined;
  add(pid: number): void;
  remove(pid: number): void;
}

/** The process groups of one rollout or a part of it. */
export class RolloutProcesses implements ProcessGroups {
  readonly owner: string;
  readonly toolServer: ToolServer | undefined;
  readonly #groups: ProcessGroups;
  #used = false;

  constructor(groups: ProcessGroups) {
    this.toolServer = groups.toolServer;
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
    await this.toolServer?.endStrays(this.owner);
    if (this.#used) await endStrays(this.owner);
  }
}

import type { ProcessGroups } from './processGroups.ts';
import { killTree } from './processTree.ts';
import { newOwner } from './strays.ts';

/** Process groups without a worker's reaper: ends remaining processes when this process exits. */
class OwnGroups implements ProcessGroups {
  readonly owner = newOwner();
  readonly #groups = new Set<number>();

  constructor() {
    process.once('exit', () => {
      for (const pid of this.#groups) killTree(pid);
    });
  }

  add(pid: number): void {
    this.#groups.add(pid);
  }

  remove(pid: number): void {
    this.#groups.delete(pid);
  }
}

let groups: OwnGroups | undefined;

/** Returns the process groups of this process. */
export function ownGroups(): ProcessGroups {
  return (groups ??= new OwnGroups());
}

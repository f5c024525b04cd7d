import { markOf, newOwner } from '../processes/strays.ts';
import type { ModulePool } from './modulePool.ts';

/** The processes that a rollout's module starts. Remaining ones end with the rollout. */
export class Children {
  /** Environment variable that identifies them. */
  readonly mark: string;
  readonly #owner: string;
  readonly #pool: ModulePool;

  /** `owner`: the owner of all processes of the rollout. */
  constructor(pool: ModulePool, owner: string) {
    this.#pool = pool;
    this.#owner = newOwner(owner);
    this.mark = markOf(this.#owner);
  }

  /** Ends those that are left. */
  close(): Promise<void> {
    return this.#pool.endProcesses(this.#owner);
  }
}

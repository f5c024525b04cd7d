/**
 * Remembers what the user allowed or denied, by the hash of its content: in the user's data and not in the workspace.
 * Does not depend on VS Code.
 */
import type { Memory } from '../launch/memory.ts';

const MAX_DECISIONS = 1000;

export class Decisions {
  readonly #memory: Memory;
  readonly #key: string;

  /** @param key Of the decisions in the memory. */
  constructor(memory: Memory, key: string) {
    this.#memory = memory;
    this.#key = key;
  }

  /** The decisions by ID, oldest first. */
  get all(): Map<string, boolean> {
    const value = this.#memory.get(this.#key);
    return new Map(
      typeof value === 'object' && value !== null
        ? Object.entries(value).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean')
        : [],
    );
  }

  async add(decisions: Iterable<readonly [id: string, allowed: boolean]>): Promise<void> {
    const { all } = this;
    for (const [id, allowed] of decisions) {
      all.delete(id);
      all.set(id, allowed);
    }
    await this.#memory.update(this.#key, Object.fromEntries([...all].slice(-MAX_DECISIONS)));
  }
}

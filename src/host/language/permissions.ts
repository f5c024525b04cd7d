/**
 * Remembers which endpoints and MCP servers of files the user allowed to query, in the user's data and not in the
 * workspace. Does not depend on VS Code.
 */
import type { QueryPlace } from '../../config/queryPlaces.ts';
import type { Memory } from '../launch/memory.ts';

/** Memento key: decisions by the ID of the place, oldest first. */
const DECISIONS = 'language.queryDecisions';
const MAX_DECISIONS = 1000;

export class QueryPermissions {
  readonly #memory: Memory;
  readonly #named = new Map<string, QueryPlace>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** IDs of the allowed places. */
  get allowed(): string[] {
    return [...this.#decisions].filter(([, allowed]) => allowed).map(([id]) => id);
  }

  /** The places that open workspaces name. */
  get named(): readonly QueryPlace[] {
    return [...this.#named.values()];
  }

  isAllowed({ id }: QueryPlace): boolean {
    return this.#decisions.get(id) === true;
  }

  /** Adds places that files name. Returns those without a decision. */
  add(places: readonly QueryPlace[]): readonly QueryPlace[] {
    for (const place of places) this.#named.set(place.id, place);
    return this.undecided;
  }

  get undecided(): readonly QueryPlace[] {
    const decisions = this.#decisions;
    return this.named.filter(({ id }) => !decisions.has(id));
  }

  /** Allows some of the places, and denies the others. */
  async decide(places: readonly QueryPlace[], allowed: readonly QueryPlace[]): Promise<void> {
    const decisions = this.#decisions;
    for (const place of places) {
      decisions.delete(place.id);
      decisions.set(place.id, allowed.includes(place));
    }
    await this.#memory.update(DECISIONS, Object.fromEntries([...decisions].slice(-MAX_DECISIONS)));
  }

  get #decisions(): Map<string, boolean> {
    const value = this.#memory.get(DECISIONS);
    return new Map(
      typeof value === 'object' && value !== null
        ? Object.entries(value).filter((entry): entry is [string, boolean] => typeof entry[1] === 'boolean')
        : [],
    );
  }
}

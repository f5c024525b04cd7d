/** Remembers which endpoints and MCP servers of files the user allowed to query. Does not depend on VS Code. */
import type { QueryPlace } from '../../config/queryPlaces.ts';
import type { Memory } from '../launch/memory.ts';
import { Decisions } from '../window/decisions.ts';

export class QueryPermissions {
  readonly #decisions: Decisions;
  readonly #named = new Map<string, QueryPlace>();

  constructor(memory: Memory) {
    this.#decisions = new Decisions(memory, 'language.queryDecisions');
  }

  /** IDs of the allowed places. */
  get allowed(): string[] {
    return [...this.#decisions.all].filter(([, allowed]) => allowed).map(([id]) => id);
  }

  /** The places that open workspaces name. */
  get named(): readonly QueryPlace[] {
    return [...this.#named.values()];
  }

  isAllowed({ id }: QueryPlace): boolean {
    return this.#decisions.all.get(id) === true;
  }

  /** Adds places that files name. Returns those without a decision. */
  add(places: readonly QueryPlace[]): readonly QueryPlace[] {
    for (const place of places) this.#named.set(place.id, place);
    return this.undecided;
  }

  get undecided(): readonly QueryPlace[] {
    const decisions = this.#decisions.all;
    return this.named.filter(({ id }) => !decisions.has(id));
  }

  /** Allows some of the places, and denies the others. */
  async decide(places: readonly QueryPlace[], allowed: readonly QueryPlace[]): Promise<void> {
    await this.#decisions.add(places.map((place) => [place.id, allowed.includes(place)]));
  }
}

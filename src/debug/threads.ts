/**
 * The threads of a debug session. For one rollout, there is a thread for each of its agents; for a whole batch, a
 * thread for each held rollout.
 */
import { StudioError } from '../common/errors.ts';
import type { Place } from '../trace/stops.ts';
import type { DebuggedRollout } from './debuggedRollout.ts';

export interface Thread {
  readonly id: number;
  readonly rollout: DebuggedRollout;
  /** The agent, in a session on one rollout. */
  readonly agent: string | undefined;
  readonly name: string;
}

export class Threads {
  readonly #wholeBatch: boolean;
  readonly #rollouts: ReadonlyMap<string, DebuggedRollout>;
  readonly #ids = new Map<string, number>();

  constructor(wholeBatch: boolean, rollouts: ReadonlyMap<string, DebuggedRollout>) {
    this.#wholeBatch = wholeBatch;
    this.#rollouts = rollouts;
  }

  get all(): Thread[] {
    return [...this.#rollouts.values()].flatMap((rollout): Thread[] => {
      const agents = this.#wholeBatch ? [] : agentsOf(rollout);
      if (agents.length === 0)
        return [{ id: this.idOf(rollout, undefined), rollout, agent: undefined, name: rollout.title }];
      return agents.map((agent) => ({ id: this.idOf(rollout, agent), rollout, agent, name: agent }));
    });
  }

  /** Returns a thread. Throws `usage` if it has ended. */
  get(id: number): Thread {
    const thread = this.all.find((candidate) => candidate.id === id);
    if (thread === undefined) throw new StudioError('usage', 'This thread has ended.');
    return thread;
  }

  /** Returns the place of a thread: the cursor if it is in that agent, or else the agent's newest stop up to there. */
  placeOf({ rollout, agent }: Thread): Place | undefined {
    const { place, cursor } = rollout;
    if (place === undefined || cursor === undefined || agent === undefined) return place;
    if ((rollout.debuggee.model.event(place.seq)?.agent ?? '') === agent) return place;
    const seq = cursor.stops.ofAgent(agent).findLast((stop) => stop <= place.at);
    return seq === undefined ? undefined : { seq, at: place.at };
  }

  /** Returns the ID of the thread of a rollout's cursor. */
  currentOf(rollout: DebuggedRollout): number {
    if (this.#wholeBatch) return this.idOf(rollout, undefined);
    const place = rollout.cursor?.place;
    return this.idOf(rollout, place === undefined ? undefined : rollout.debuggee.model.event(place.seq)?.agent);
  }

  idOf(rollout: DebuggedRollout, agent: string | undefined): number {
    // The first agent uses the thread that existed before the first event.
    const key = `${rollout.debuggee.rollout}\n${agent === agentsOf(rollout)[0] ? '' : (agent ?? '')}`;
    let id = this.#ids.get(key);
    if (id === undefined) this.#ids.set(key, (id = this.#ids.size + 1));
    return id;
  }
}

/** Returns the agent instances in order of their first event. */
export function agentsOf({ debuggee }: DebuggedRollout): string[] {
  return debuggee.model.agents.flatMap(({ path }) => (path === '' ? [] : [path]));
}

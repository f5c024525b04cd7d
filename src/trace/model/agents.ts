/** The agents of a trajectory, by instance path. */
import type { TraceEvent } from '../schema.ts';
import { isStart } from './spans.ts';
import type { Agent } from './step.ts';

/** An agent that can still get events. */
export type AgentDraft = { -readonly [K in keyof Agent]: Agent[K] extends readonly (infer I)[] ? I[] : Agent[K] };

export class AgentBook {
  readonly #byPath = new Map<string, AgentDraft>();

  /** In order of their first event. */
  get all(): readonly Agent[] {
    return [...this.#byPath.values()];
  }

  get(path: string): Agent | undefined {
    return this.#byPath.get(path);
  }

  /**
   * Returns the agent of an event, and adds it if it is new. Undefined for events of the rollout itself. Starts and
   * messages without an agent belong to the agent ''.
   */
  of(event: TraceEvent): AgentDraft | undefined {
    const path = event.agent ?? '';
    let agent = this.#byPath.get(path);
    if (agent === undefined && (event.agent !== undefined || isStart(event) || event.kind === 'message'))
      this.#byPath.set(path, (agent = { path, firstSeq: event.seq, ...sideOf(event), modelStarts: [], messages: [] }));
    return agent;
  }
}

function sideOf(event: TraceEvent): Pick<Agent, 'side'> {
  const side = event.kind === 'message' || event.kind === 'model.start' ? event.data.side : undefined;
  return side === undefined ? {} : { side };
}

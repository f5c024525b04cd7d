import { type Deferred, deferred } from '../common/abort.ts';
import type { History } from './act/history.ts';

interface Call {
  /** seq of its start. */
  readonly seq: number;
  readonly agent: string;
}

/**
 * The order in which agents that ran at the same time called their world. In a resumed run, each recorded call waits
 * for the calls before it, and a new call waits for all of them; otherwise, the restored world would differ.
 */
export class WorldOrder {
  #left: readonly Call[];
  readonly #waiting: { readonly seq: number | undefined; readonly turn: Deferred<undefined> }[] = [];

  private constructor(calls: readonly Call[]) {
    this.#left = calls;
  }

  /**
   * Returns undefined if only one agent called the world. `isAgent`: whether this agent still exists (a fork may have
   * others).
   */
  static of(history: History, tools: ReadonlySet<string>, isAgent: (path: string) => boolean): WorldOrder | undefined {
    const calls = history.endedCalls(1).filter(({ name, agent }) => tools.has(name) && isAgent(agent));
    return new Set(calls.map(({ agent }) => agent)).size > 1 ? new WorldOrder(calls) : undefined;
  }

  /** Resolves when it is the turn of a recorded call, or of a new one (undefined). */
  turn(seq: number | undefined): Promise<undefined> {
    const turn = deferred<undefined>();
    this.#waiting.push({ seq, turn });
    this.#update();
    return turn.promise;
  }

  /** Marks a call as ended. */
  markEnded(seq: number | undefined): void {
    if (seq !== undefined) this.#drop((call) => call.seq === seq);
  }

  /** Drops the recorded calls of an agent and of those below it, which will not be made; without `agent`, all calls. */
  forget(agent?: string): void {
    this.#drop((call) => agent === undefined || call.agent === agent || call.agent.startsWith(`${agent}/`));
  }

  #drop(isDropped: (call: Call) => boolean): void {
    this.#left = this.#left.filter((call) => !isDropped(call));
    this.#update();
  }

  #update(): void {
    const [next] = this.#left;
    for (const waiting of [...this.#waiting]) {
      const ready =
        next === undefined ||
        waiting.seq === next.seq ||
        (waiting.seq !== undefined && !this.#left.some(({ seq }) => seq === waiting.seq));
      if (!ready) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.turn.resolve(undefined);
    }
  }
}

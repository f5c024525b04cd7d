import { type Deferred, deferred } from '../common/abort.ts';
import type { History } from './act/history.ts';

interface Call {
  /** seq of its start. */
  readonly seq: number;
  readonly agent: string;
}

/**
 * The order in which agents that worked at the same time called their world. When they are run again over the record,
 * each recorded call waits for those before it, and a new one for all of them: else the world that is brought back
 * would be another one.
 */
export class WorldOrder {
  #left: readonly Call[];
  readonly #waiting: { readonly seq: number | undefined; readonly turn: Deferred<undefined> }[] = [];

  private constructor(calls: readonly Call[]) {
    this.#left = calls;
  }

  /**
   * undefined where one agent alone called it. `isAgent`: whether there is still such an agent (a fork may have
   * others).
   */
  static of(history: History, tools: ReadonlySet<string>, isAgent: (path: string) => boolean): WorldOrder | undefined {
    const calls = history.endedCalls(1).filter(({ name, agent }) => tools.has(name) && isAgent(agent));
    return new Set(calls.map(({ agent }) => agent)).size > 1 ? new WorldOrder(calls) : undefined;
  }

  /** Resolves when it is the turn of a recorded call, or (undefined) of one that is new. */
  turn(seq: number | undefined): Promise<undefined> {
    const turn = deferred<undefined>();
    this.#waiting.push({ seq, turn });
    this.#look();
    return turn.promise;
  }

  /** A call is over. */
  passed(seq: number | undefined): void {
    if (seq !== undefined) this.#drop((call) => call.seq === seq);
  }

  /** The recorded calls of an agent and of those below it are not asked for any more; absent: those of all. */
  forget(agent?: string): void {
    this.#drop((call) => agent === undefined || call.agent === agent || call.agent.startsWith(`${agent}/`));
  }

  #drop(gone: (call: Call) => boolean): void {
    this.#left = this.#left.filter((call) => !gone(call));
    this.#look();
  }

  #look(): void {
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

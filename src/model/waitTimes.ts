/** How long a call waited for something other than the endpoints themselves: the end of pauses, or others. */
import type { ModelReply } from '../rollout/ports.ts';
import type { WaitReason } from '../trace/schema.ts';
import type { PermitGate } from './permits.ts';

export class WaitTimes {
  readonly #gate: Pick<PermitGate, 'paused' | 'yields'>;
  readonly #endpoints: () => readonly string[];
  readonly #yielded = new Map<WaitReason, number>();
  #pausedMs = 0;

  constructor(gate: Pick<PermitGate, 'paused' | 'yields'>, endpoints: () => readonly string[]) {
    this.#gate = gate;
    this.#endpoints = endpoints;
  }

  /** Time that it waited for the end of pauses. */
  get pausedMs(): number {
    return this.#pausedMs;
  }

  /** Returns the time that it waited for others, and for whom most of it. */
  yielded(): Pick<ModelReply, 'yielded'> {
    const [longest] = [...this.#yielded].sort(([, a], [, b]) => b - a);
    if (longest === undefined) return {};
    return { yielded: { ms: [...this.#yielded.values()].reduce((sum, ms) => sum + ms, 0), to: longest[0] } };
  }

  /** Begins to wait. Returns a function to call after each change of what it waits for, and at the end. */
  begin(): () => void {
    let since = performance.now();
    let why = this.reason();
    return () => {
      const now = performance.now();
      if (why === 'pause') this.#pausedMs += now - since;
      else if (why !== undefined) this.#yielded.set(why, (this.#yielded.get(why) ?? 0) + now - since);
      since = now;
      why = this.reason();
    };
  }

  /** Returns what it waits for now, other than the endpoints. */
  reason(): 'pause' | WaitReason | undefined {
    if (this.paused()) return 'pause';
    const yields = this.#endpoints().map((endpoint) => this.#gate.yields(endpoint));
    return yields.every((reason) => reason !== undefined) ? yields[0] : undefined;
  }

  /** Whether it waits for the end of a pause: one of the endpoints is paused. */
  paused(): boolean {
    return this.#endpoints().some((endpoint) => this.#gate.paused(endpoint));
  }
}

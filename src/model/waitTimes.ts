/** How long a call waited for something other than the endpoints themselves: the end of pauses, or others. */
import type { ModelReply } from '../rollout/ports.ts';
import type { Pause, WaitReason } from '../trace/schema.ts';
import type { PermitGate } from './permits.ts';

export class WaitTimes {
  readonly #gate: Pick<PermitGate, 'paused' | 'yields'>;
  readonly #endpoints: () => readonly string[];
  readonly #pausedBy: (endpoint: string) => Pause | undefined;
  readonly #yielded = new Map<WaitReason, number>();
  /** By what was paused, and by whom. */
  readonly #pauses = new Map<string, { readonly pause: Pause; ms: number }>();
  #pausedMs = 0;

  constructor(
    gate: Pick<PermitGate, 'paused' | 'yields'>,
    endpoints: () => readonly string[],
    pausedBy: (endpoint: string) => Pause | undefined = () => undefined,
  ) {
    this.#gate = gate;
    this.#endpoints = endpoints;
    this.#pausedBy = pausedBy;
  }

  /** Time that it waited for the end of pauses. */
  get pausedMs(): number {
    return this.#pausedMs;
  }

  /** Returns the pause that it waited for most of the time. */
  get pause(): Pause | undefined {
    return [...this.#pauses.values()].sort((a, b) => b.ms - a.ms)[0]?.pause;
  }

  /** Records that a pause interrupted a request to an endpoint. */
  interrupted(endpoint: string): void {
    this.#add(this.#pausedBy(endpoint), 0);
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
    let pause = this.#pause();
    return () => {
      const now = performance.now();
      if (why === 'pause') {
        this.#pausedMs += now - since;
        this.#add(pause, now - since);
      } else if (why !== undefined) this.#yielded.set(why, (this.#yielded.get(why) ?? 0) + now - since);
      since = now;
      why = this.reason();
      pause = this.#pause();
    };
  }

  #pause(): Pause | undefined {
    for (const endpoint of this.#endpoints()) {
      const pause = this.#pausedBy(endpoint);
      if (pause !== undefined) return pause;
    }
    return undefined;
  }

  #add(pause: Pause | undefined, ms: number): void {
    if (pause === undefined) return;
    const key = JSON.stringify([pause.endpoint, pause.by]);
    const known = this.#pauses.get(key);
    if (known === undefined) this.#pauses.set(key, { pause, ms });
    else known.ms += ms;
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

/** Asks the server whether this rollout is the first of its batch to match a `once` breakpoint. */
import { randomUUID } from 'node:crypto';
import type { Deferred } from '../../common/abort.ts';
import { deferred } from '../../common/abort.ts';
import type { PlainFrame } from '../outlet.ts';

type Claim = Extract<PlainFrame, { type: 'claim' }>;

export class Claims {
  readonly #send: (frame: PlainFrame) => boolean;
  readonly #open = new Map<string, { readonly frame: Claim; readonly answer: Deferred<boolean> }>();

  constructor(send: (frame: PlainFrame) => boolean) {
    this.#send = send;
  }

  ask(rollout: string, epoch: number, breakpoint: string): Promise<boolean> {
    const frame: Claim = { type: 'claim', claim: randomUUID(), breakpoint, rollout, epoch };
    const answer = deferred<boolean>();
    this.#open.set(frame.claim, { frame, answer });
    this.#send(frame);
    return answer.promise;
  }

  answered(claim: string, yes: boolean): void {
    this.#open.get(claim)?.answer.resolve(yes);
    this.#open.delete(claim);
  }

  /** Repeats open questions after a reconnection: answers may have been lost, and asking twice is harmless. */
  repeat(): void {
    for (const { frame } of this.#open.values()) this.#send(frame);
  }

  /** Drops the questions of a rollout that is over. */
  drop(rollout: string): void {
    for (const [claim, { frame, answer }] of this.#open) {
      if (frame.rollout !== rollout) continue;
      this.#open.delete(claim);
      answer.resolve(false);
    }
  }
}

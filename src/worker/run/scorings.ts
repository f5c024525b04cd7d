/** Asks the server for the expected answers of rollouts that are about to be scored. */
import type { Deferred } from '../../common/abort.ts';
import { abortable, deferred } from '../../common/abort.ts';
import type { Json } from '../../common/json.ts';
import type { PlainFrame } from '../outlet.ts';

type Request = Extract<PlainFrame, { type: 'scoring' }>;

export class Scorings {
  readonly #send: (frame: PlainFrame) => boolean;
  readonly #open = new Map<string, { readonly frame: Request; readonly answer: Deferred<Json | undefined> }>();

  constructor(send: (frame: PlainFrame) => boolean) {
    this.#send = send;
  }

  /** Returns the expected answer, if the task has one. Rejects with the reason of `signal` only. */
  async ask(rollout: string, epoch: number, signal: AbortSignal): Promise<Json | undefined> {
    const open = { frame: { type: 'scoring', rollout, epoch } as const, answer: deferred<Json | undefined>() };
    this.#open.set(rollout, open);
    this.#send(open.frame);
    try {
      return await abortable(open.answer.promise, signal);
    } finally {
      if (this.#open.get(rollout) === open) this.#open.delete(rollout);
    }
  }

  answered(rollout: string, epoch: number, answer: Json | undefined): void {
    const open = this.#open.get(rollout);
    if (open?.frame.epoch === epoch) open.answer.resolve(answer);
  }

  /** Repeats open requests after a reconnection: answers may have been lost, and asking twice is harmless. */
  repeat(): void {
    for (const { frame } of this.#open.values()) this.#send(frame);
  }
}

/** Asks the server for what only scoring may know of tasks, when rollouts are about to be scored. */
import type { Deferred } from '../../common/abort.ts';
import { abortable, deferred } from '../../common/abort.ts';
import type { ServerToWorker } from '../../protocol/worker.ts';
import type { ScoringPart } from '../../rollout/job.ts';
import type { PlainFrame } from '../outlet.ts';

type Request = Extract<PlainFrame, { type: 'scoring' }>;
type Answer = Extract<ServerToWorker, { type: 'scoring' }>;

export class Scorings {
  readonly #send: (frame: PlainFrame) => boolean;
  readonly #open = new Map<string, { readonly frame: Request; readonly answer: Deferred<ScoringPart> }>();

  constructor(send: (frame: PlainFrame) => boolean) {
    this.#send = send;
  }

  /** Rejects with the reason of `signal` only. */
  async ask(rollout: string, epoch: number, signal: AbortSignal): Promise<ScoringPart> {
    const open = { frame: { type: 'scoring', rollout, epoch } as const, answer: deferred<ScoringPart>() };
    this.#open.set(rollout, open);
    this.#send(open.frame);
    try {
      return await abortable(open.answer.promise, signal);
    } finally {
      if (this.#open.get(rollout) === open) this.#open.delete(rollout);
    }
  }

  answered(frame: Answer): void {
    const open = this.#open.get(frame.rollout);
    if (open?.frame.epoch === frame.epoch) open.answer.resolve(frame);
  }

  /** Repeats open requests after a reconnection: answers may have been lost, and asking twice is harmless. */
  repeat(): void {
    for (const { frame } of this.#open.values()) this.#send(frame);
  }
}

/** Who brings workers to batches. The server tells how batches stand; the executor starts and ends workers. */
import type { Submission } from '../config/submission.ts';
import type { BatchRecord } from '../store/store.ts';

/** What an executor needs of the server it works for. */
export interface ExecutorHost {
  /** Origin of the server as its workers reach it. */
  readonly url: string;
  /** A worker token for a batch. */
  token(batch: string): string;
  /** File with the values of `${env:…}` of a batch; undefined: it has none. */
  secrets(batch: string): Promise<string | undefined>;
  /** Names of the workers that have a session of the batch, here or at another server. */
  workers(batch: string): Promise<string[]>;
  /** A worker's process or pod is gone: its sessions end now. `infra`: also tell why in the batch's stream. Gives whether it had rollouts: it was able to work. */
  workerEnded(batch: string, worker: string, why: string, infra: boolean): Promise<boolean>;
  /** Tells a worker to stop; false when it is not connected. */
  drain(worker: string): boolean;
  /** How the batch stands now is wanted again, by `wants`. */
  look(batch: string): void;
  log(text: string): void;
}

export interface Executor {
  /** How a batch that has not ended stands. Called whenever it changed; returns at once. */
  wants(record: BatchRecord, submission: Submission): void;
  /** The batch has ended, or is gone. */
  gone(batch: string): void;
  /** Ends all workers it started; their rollouts go back to the queue. */
  close(): Promise<void>;
}

/** Who brings workers to batches. The server tells how batches stand; the executor starts and ends workers. */
import type { LogAbout } from '../common/log.ts';
import type { Submission } from '../config/submission.ts';
import type { BatchRecord } from '../store/store.ts';
import type { EventData } from '../trace/schema.ts';

/** What an executor needs of the server it works for. */
export interface ExecutorHost {
  /** Origin of the server as its workers reach it. */
  readonly url: string;
  /** Further ones, which lead to a server of its store when it is gone. */
  readonly others?: readonly string[];
  /** A worker token for a batch. */
  token(batch: string): string;
  /** File with the values of `${env:…}` of a batch; undefined: it has none. */
  secrets(batch: string): Promise<string | undefined>;
  /** Names of the workers that have a session of the batch, here or at another server. */
  workers(batch: string): Promise<string[]>;
  /**
   * A worker's process or pod is gone: its sessions end now. `infra`: also tell why in the batch's stream. Gives
   * whether it had rollouts: it was able to work.
   */
  workerEnded(batch: string, worker: string, why: string, infra: boolean): Promise<boolean>;
  /** Tells a worker to stop; false when it is not connected. */
  drain(worker: string): boolean;
  /** How the batch stands now is wanted again, by `wants`. */
  look(batch: string): void;
  log(text: string, about?: LogAbout): void;
}

/** What an executor needs besides whose workers are elsewhere, and outlive the server. */
export interface ClusterHost extends ExecutorHost {
  /** Tells in the batch's stream what happened around its workers. */
  tell(batch: string, what: EventData['infra']): Promise<void>;
  /** The batch cannot be run: it ends, for `reason`. */
  giveUp(batch: string, reason: string): Promise<void>;
  /** Whether the batch has ended, or is gone. */
  hasEnded(batch: string): Promise<boolean>;
  /** True at exactly one server of the store at a time. */
  elect(role: string): Promise<boolean>;
}

export interface Executor {
  /** Throws `config` when its workers do not have what the tools of a new batch need. */
  check(submission: Submission): void;
  /**
   * Values of `${env:…}` of a batch that came to another server, or to this one in an earlier life; undefined: they are
   * nowhere to be had.
   */
  secrets(batch: string): Promise<Record<string, string> | undefined>;
  /** How a batch that has not ended stands. Called whenever it changed; returns at once. */
  wants(record: BatchRecord, submission: Submission): void;
  /** The batch has ended, or is gone. */
  gone(batch: string): void;
  /** The server ends. Workers that cannot outlive it end too; their rollouts go back to the queue. */
  close(): Promise<void>;
}

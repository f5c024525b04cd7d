/**
 * Executors provide workers for batches. The server reports the state of batches; the executor starts and ends workers.
 */
import type { LogAbout } from '../common/log.ts';
import type { Submission } from '../config/submission.ts';
import type { ExecutorPod, PodLogOptions } from '../protocol/pods.ts';
import type { BatchRecord } from '../store/store.ts';
import type { EventData } from '../trace/schema.ts';

/** The services of the server that an executor uses. */
export interface ExecutorHost {
  /** Origin at which workers reach the server. */
  readonly url: string;
  /** Further origins, which lead to another server of the same store if this one is gone. */
  readonly others?: readonly string[];
  /** Returns the enrollment token of a batch. */
  token(batch: string): string;
  /** Returns the file with the values of `${env:…}` of a batch; undefined if it has none. */
  secrets(batch: string): Promise<string | undefined>;
  /** Returns the names of the workers that have a session of the batch, at this or another server. */
  workers(batch: string): Promise<string[]>;
  /**
   * Ends the sessions of a worker whose process or pod ended. `infra`: also record why in the batch's stream. Returns
   * whether the worker had rollouts, so was able to work.
   */
  workerEnded(batch: string, worker: string, why: string, infra: boolean): Promise<boolean>;
  /** Asks a worker to stop. Returns false when it is not connected. */
  drain(worker: string): boolean;
  /** Requests another call of `updateBatch` with the current state of the batch. */
  refresh(batch: string): void;
  log(text: string, about?: LogAbout): void;
}

/** What a rollout gets on its disk before it starts, in bytes. */
export interface Attached {
  /** Files of the task that has the most. */
  readonly files: number;
  /** Code and initial state of the largest scenario of a code world. */
  readonly state: number;
}

/** What a batch brings along. */
export interface BatchLoad {
  /** For each rollout. */
  readonly attached: Attached;
  /** Rollouts that are known, and whether there will be no more. */
  readonly open: number;
  readonly sealed: boolean;
}

/** A pod of a batch: when it started, until when it is known to have run, and what it requested. */
export interface PodRun {
  readonly uid: string;
  readonly batch: string;
  readonly from: number;
  readonly until: number;
  readonly cpus: number;
  readonly gpus: number;
}

/** What users and queues may have of the cluster. */
export interface PodShares {
  /** Returns the Kueue LocalQueue of a batch that names none itself. */
  localQueue(batch: string): string | undefined;
  /**
   * Returns how many pods a batch may have in all; undefined if nothing limits that. `pods`: those that all batches
   * have, and could have.
   */
  allowed(
    batch: string,
    pods: ReadonlyMap<string, { readonly has: number; readonly wants: number }>,
  ): { readonly pods: number; readonly text: string } | undefined;
  /** Records what pods used so far. */
  record(pods: readonly PodRun[]): Promise<void>;
}

/** Further services for an executor whose workers run on other machines and outlive the server. */
export interface ClusterHost extends ExecutorHost {
  /** Returns the enrollment token for pods of a batch that each get a single rollout. */
  podToken(batch: string): string;
  /** Records in the batch's stream what happened to its workers. `once`: unless it has been recorded before. */
  recordInfra(batch: string, what: EventData['infra'], once?: boolean): Promise<void>;
  /** Ends a batch that cannot run, with a reason. */
  giveUp(batch: string, reason: string): Promise<void>;
  /** Returns what each rollout of a batch gets on its disk before it starts. */
  attached(batch: string, submission: Submission): Promise<Attached>;
  /** Returns whether the batch has ended or was removed. */
  hasEnded(batch: string): Promise<boolean>;
  /** Returns true at exactly one server of the store at a time. */
  elect(role: string): Promise<boolean>;
  /** Absent: nothing is shared. */
  readonly shares?: PodShares;
}

export interface Executor {
  /**
   * Rejects with `config` when its workers lack something that the tools of a new batch need, or the disk for what it
   * attaches; `load`: as far as its tasks are known. Returns what the batch's stream should say about its workers.
   */
  check(submission: Submission, load?: BatchLoad): Promise<readonly EventData['infra'][]>;
  /**
   * Returns the values of `${env:…}` of a batch that were sent to another server, or to this one before a restart;
   * undefined if they are not available.
   */
  secrets(batch: string): Promise<Record<string, string> | undefined>;
  /** Returns what is wrong with how the server is installed, and what to do, in sentences. */
  troubles?(): readonly string[];
  /** Returns the variables of `${env:…}` of a batch whose values are lost, so that no worker can start. */
  lackingValues?(batch: string): readonly string[];
  /** Returns why a batch has no pods, or fewer than it could have. Absent where workers are no pods. */
  podsWait?(batch: string): { readonly why: 'pods' | 'cluster' | 'queue'; readonly text: string } | undefined;
  /** Reports the state of a batch that has not ended. Called after each change; returns immediately. */
  updateBatch(record: BatchRecord, submission: Submission): void;
  /** Reports that a worker did not renew its lease. Its process may be alive and frozen. */
  workerLost?(batch: string, worker: string): void;
  /** Returns the UID of the running pod of a batch with this name; undefined if there is none. */
  podUid?(batch: string, name: string): Promise<string | undefined>;
  /**
   * Reports that a worker has no sandbox for what the tools of its batch start, and why. Resolves when the batch says
   * so, or has been ended because it requires one.
   */
  noSandbox?(batch: string, submission: Submission, reason: string): Promise<void>;
  /** Returns the pods or processes of a batch that exist now, also of one that has ended. */
  pods?(batch: string, signal: AbortSignal): Promise<readonly ExecutorPod[]>;
  /**
   * Yields the log of a pod or process of a batch. Throws `not_found` if the batch has none of this name, or if it has
   * no log.
   */
  podLog?(batch: string, pod: string, options: PodLogOptions, signal: AbortSignal): AsyncIterable<string>;
  /** Reports that the batch has ended or was removed. */
  removeBatch(batch: string): void;
  /** Closes the executor with the server. Workers that cannot outlive the server end; their rollouts are requeued. */
  close(): Promise<void>;
}

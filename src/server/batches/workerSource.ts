import type { Submission } from '../../config/submission.ts';
import type { BatchRecord } from '../../store/store.ts';

/** The part of an executor that the supervisor uses. */
export interface WorkerSource {
  /** Reports the state of a batch that has not ended. Called often. */
  updateBatch(record: BatchRecord, submission: Submission): void;
  /** Reports that a worker did not renew its lease. */
  workerLost(batch: string, worker: string): void;
  /** Reports that the batch has ended or was removed. */
  removeBatch(batch: string): void;
  /** Returns the values of `${env:…}` of a batch, if they are kept for its workers. */
  secrets(batch: string): Promise<Record<string, string> | undefined>;
}

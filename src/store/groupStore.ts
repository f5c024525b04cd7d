/** The groups that trainers request, in the store. */
import type { CutMember, GroupPage, GroupRow, GroupSampling, RequestGroup } from '../protocol/groups.ts';
import type { TaskRecord } from '../trace/task.ts';

export interface GroupStore {
  /**
   * Queues a group of a batch that was created for groups. Idempotent by its ID: a repeat returns the existing one,
   * another request with the same ID is a conflict. Calls arriving together are committed together. Throws `usage` if
   * its numbers do not fit each other, `not_found` without its batch or task, and `conflict` if its batch takes none.
   */
  addGroup(batch: string, group: string, asked: AskedGroup): Promise<GroupRow>;
  /** Lists groups in order of their requests; `after` is an index. */
  groups(batch: string, page: { after?: number; limit: number; group?: string }): Promise<GroupPage>;
  /** Returns groups that ended after `rev`, in the order in which they ended; at most `limit`. */
  finishedGroups(batch: string, rev: number, limit: number): Promise<FinishedGroupRecord[]>;
  /** Ends a group. Returns false if it has ended before. Throws `not_found`. */
  cancelGroup(batch: string, group: string, why: string): Promise<boolean>;
  /**
   * Records what the filter of its batch says about a group that has ended. Returns what was recorded first: the answer
   * never changes, whoever asks. Throws `not_found`.
   */
  filterGroup(batch: string, group: string, filtered: FilteredGroup): Promise<FilteredGroup>;
  /**
   * Records the first delivery of a group, unless it is to wait for others in place of `stale`, its members that are
   * too old: then it is open again, with new members. That is the case while the batch and the deadline of the group
   * allow it, and no more members are replaced than the group had. Returns false if it is not delivered now, or
   * ended again since `rev`: its next end has another `rev`. Once delivered, it stays as it is. Throws `not_found`.
   */
  deliverGroup(batch: string, group: string, delivery: { rev: number; stale: readonly string[] }): Promise<boolean>;
  /** Records what is replayed with a group that has ended. Returns what was recorded first. Throws `not_found`. */
  replayGroup(batch: string, group: string, replayed: readonly ReplayedRollout[]): Promise<readonly ReplayedRollout[]>;
  /**
   * Returns the groups of a task of the dataset that ended before `before` (default: all), the newest first. Looks
   * through the newest `limit` groups of the batch.
   */
  earlierGroups(
    batch: string,
    task: string,
    page: { before?: number | undefined; limit: number },
  ): Promise<FinishedGroupRecord[]>;
  /** Ends the groups of a batch whose deadline has passed. Returns the next deadline, by the database's clock. */
  expireGroups(batch: string): Promise<number | undefined>;
  /** Returns the next deadline of a batch, by the database's clock. */
  nextDeadline(batch: string): Promise<number | undefined>;
  /** Lists batches with a callback that may have groups to send, and the `rev` of the newest group that it has got. */
  groupCallbacks(): Promise<{ batch: string; rev: number }[]>;
  /** Records that a callback has got the groups up to `rev`. */
  callbackSent(batch: string, rev: number): Promise<void>;
}

/** What a trainer requested. The batch says the rest. */
export type AskedGroup = Omit<RequestGroup, 'batch' | 'group'>;

/** What a trainer requested, with the defaults of the batch. */
export interface GroupRequest {
  /** ID of a task of the batch, or a whole task. */
  readonly task: string | TaskRecord;
  readonly size: number;
  readonly extra: number;
  readonly min_usable: number;
  readonly deadline_s?: number;
  readonly priority: number;
  readonly sampling?: GroupSampling;
}

/** A group that has ended: IDs of the rollouts that count and of those without a reward, and what was cut off. */
export interface FinishedGroupRecord {
  readonly row: GroupRow;
  readonly rev: number;
  readonly members: readonly string[];
  readonly excluded: readonly string[];
  readonly cut: readonly CutMember[];
  /** Those of the excluded ones whose weights were too old at an earlier delivery. */
  readonly stale?: readonly string[];
  /** Set at the first delivery, in batches whose stale groups wait. */
  readonly delivered?: true;
  /** Absent until the filter of its batch was asked. */
  readonly filtered?: FilteredGroup;
  /** Absent until it was looked for. */
  readonly replayed?: readonly ReplayedRollout[];
}

/** A rollout of an earlier group that is delivered again. */
export interface ReplayedRollout {
  readonly batch: string;
  readonly rollout: string;
  /** How many versions of the weights it was behind at the first delivery; null: no version was known. */
  readonly behind: number | null;
}

/** What a filter said about a group. */
export interface FilteredGroup {
  /** Why it is left out; null: it is not. */
  readonly why: string | null;
  /** Tokens of its members. */
  readonly tokens: number;
}

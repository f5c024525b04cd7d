/** Reads the state of a batch's consecutive Jobs, and decides whether another one is due. Pure. */

import { sentence } from '../../common/text.ts';
import type { Job } from '../../kubernetes/access/objects.ts';
import { NOTE } from './jobManifest.ts';

export interface Round {
  readonly name: string;
  readonly uid: string;
  readonly round: number;
  readonly state: 'active' | 'complete' | 'failed';
  /** It waits to be resumed, by Kueue or manually. */
  readonly suspended: boolean;
  /** It is suspended because its batch is paused without pods. */
  readonly released: boolean;
  /** Its pods know the server by its authority. */
  readonly tls: boolean;
  /** Its pods prove which one they are. */
  readonly single: boolean;
  /** Reason and message of a failed Job. */
  readonly reason: string;
  readonly message: string;
  /** The pods that it has, or gets as soon as others resume it. Indexes that are done have none. */
  readonly pods: number;
  /** Pods at once, and indexes, as it was created or changed. */
  readonly parallelism: number;
  readonly completions: number;
  /** Grows with each change of the Job, but not with its status. */
  readonly generation: number;
  /** Concurrent rollouts in each of its pods. */
  readonly slots: number;
  /** Settled attempts when it was created. */
  readonly settled: number;
  /** Number of consecutive rounds before it that settled no attempt. */
  readonly fruitless: number;
}

/** Reads a Job. Returns undefined for a Job of somebody else. */
export function readRound(job: Job): Round | undefined {
  const round = /-(\d+)$/.exec(job.metadata.name)?.[1];
  if (round === undefined || job.metadata.uid === undefined || batchOf(job) === undefined) return undefined;
  const conditions = job.status?.conditions ?? [];
  const ended = conditions.find(({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'));
  const notes = job.metadata.annotations ?? {};
  const suspended = ended === undefined && job.spec?.suspend === true;
  const released = suspended && notes[NOTE.released] === 'true';
  const { parallelism = 0, completions = parallelism } = job.spec ?? {};
  return {
    name: job.metadata.name,
    uid: job.metadata.uid,
    round: Number(round),
    state: ended === undefined ? 'active' : ended.type === 'Complete' ? 'complete' : 'failed',
    suspended,
    released,
    reason: ended?.reason ?? '',
    message: ended?.message ?? '',
    tls: notes[NOTE.tls] === 'true',
    single: notes[NOTE.single] === 'true',
    pods: released ? 0 : Math.min(parallelism, Math.max(0, completions - doneIndexes(job))),
    parallelism,
    completions,
    generation: job.metadata.generation ?? 0,
    slots: Number(notes[NOTE.slots] ?? 1),
    settled: Number(notes[NOTE.settled] ?? 0),
    fruitless: Number(notes[NOTE.fruitless] ?? 0),
  };
}

/** Returns how many indexes get no pod anymore: those that succeeded, and those that failed for good (`1,3-5`). */
function doneIndexes({ status }: Job): number {
  const failed = (status?.failedIndexes ?? '').split(',').reduce((sum, part) => {
    const [first, last = first] = part.split('-');
    return first === undefined || first === '' ? sum : sum + Number(last) - Number(first) + 1;
  }, 0);
  return (status?.succeeded ?? 0) + failed;
}

/** Returns the batch of one of our Jobs or pods. */
export function batchOf(object: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}): string | undefined {
  return object.metadata.annotations?.[NOTE.batch];
}

export type NextRound =
  /** A Job is active, or there is nothing to do. */
  | { readonly do: 'wait' }
  | { readonly do: 'create'; readonly round: number; readonly fruitless: number; readonly afterMs: number }
  | { readonly do: 'give_up'; readonly reason: string };

export interface JobState {
  readonly rounds: readonly Round[];
  /** The highest number so far, including deleted Jobs. */
  readonly last: number;
  /** Jobs up to this number are ignored: they precede the retry of the batch. */
  readonly ignoredRounds: number;
  readonly queued: number;
  readonly settled: number;
  /** Number of consecutive rounds that may settle nothing before the batch fails. */
  readonly retries: number;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

export function nextRound({ rounds, last, ignoredRounds, queued, settled, retries }: JobState): NextRound {
  if (queued === 0 || rounds.some(({ state }) => state === 'active')) return { do: 'wait' };
  const before = rounds
    .filter(({ round }) => round > ignoredRounds)
    .sort((a, b) => a.round - b.round)
    .at(-1);
  const create = (fruitless: number): NextRound => ({
    do: 'create',
    round: last + 1,
    fruitless,
    afterMs: fruitless === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (fruitless - 1)),
  });
  if (before === undefined) return create(0);
  // Exit code 2: every pod would fail the same way.
  if (before.state === 'failed' && before.reason === 'PodFailurePolicy')
    return { do: 'give_up', reason: `The pods of the batch cannot run: ${sentence(before.message)}` };
  const fruitless = settled > before.settled ? 0 : before.fruitless + 1;
  if (fruitless <= retries) return create(fruitless);
  const how = before.message === '' ? before.state : before.message;
  return {
    do: 'give_up',
    reason:
      `The pods of the batch ended ${fruitless === 1 ? '' : `${fruitless} times `}without settling an attempt. ` +
      `Last Job, ${before.name}: ${sentence(how)}`,
  };
}

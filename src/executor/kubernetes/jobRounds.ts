/** A batch's Jobs, one after another: how each stands, and whether another one is due. Pure. */

import { sentence } from '../../common/text.ts';
import type { Job } from '../../kubernetes/access/objects.ts';
import { NOTE } from './jobManifest.ts';

export interface Round {
  readonly name: string;
  readonly uid: string;
  readonly round: number;
  readonly state: 'active' | 'complete' | 'failed';
  /** It waits to be let go, by Kueue or by hand. */
  readonly suspended: boolean;
  /** It waits because its batch is paused and keeps no pods. */
  readonly released: boolean;
  /** Of a failed one: the cluster's word for why, and its sentence. */
  readonly reason: string;
  readonly message: string;
  /** Rollouts at once in each of its pods. */
  readonly slots: number;
  /** Attempts that were settled when it was made. */
  readonly settled: number;
  /** Rounds before it that settled none, one after another. */
  readonly fruitless: number;
}

/** undefined: it is no Job of ours. */
export function readRound(job: Job): Round | undefined {
  const round = /-(\d+)$/.exec(job.metadata.name)?.[1];
  if (round === undefined || job.metadata.uid === undefined || batchOf(job) === undefined) return undefined;
  const conditions = job.status?.conditions ?? [];
  const ended = conditions.find(({ type, status }) => status === 'True' && (type === 'Complete' || type === 'Failed'));
  const notes = job.metadata.annotations ?? {};
  const suspended = ended === undefined && job.spec?.suspend === true;
  return {
    name: job.metadata.name,
    uid: job.metadata.uid,
    round: Number(round),
    state: ended === undefined ? 'active' : ended.type === 'Complete' ? 'complete' : 'failed',
    suspended,
    released: suspended && notes[NOTE.released] === 'true',
    reason: ended?.reason ?? '',
    message: ended?.message ?? '',
    slots: Number(notes[NOTE.slots] ?? 1),
    settled: Number(notes[NOTE.settled] ?? 0),
    fruitless: Number(notes[NOTE.fruitless] ?? 0),
  };
}

/** The batch that a Job or a pod of ours works for. */
export function batchOf(object: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}): string | undefined {
  return object.metadata.annotations?.[NOTE.batch];
}

export type NextRound =
  /** There is one at work, or nothing to do. */
  | { readonly do: 'wait' }
  | { readonly do: 'create'; readonly round: number; readonly fruitless: number; readonly afterMs: number }
  | { readonly do: 'give_up'; readonly reason: string };

export interface JobState {
  readonly rounds: readonly Round[];
  /** The highest number there ever was, also of Jobs that are gone. */
  readonly last: number;
  /** Those up to this number count for nothing: the batch was ended with them, and taken back. */
  readonly over: number;
  readonly queued: number;
  readonly settled: number;
  /** How many rounds may settle nothing, one after another, before the batch is given up. */
  readonly retries: number;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 60_000;

export function nextRound({ rounds, last, over, queued, settled, retries }: JobState): NextRound {
  if (queued === 0 || rounds.some(({ state }) => state === 'active')) return { do: 'wait' };
  const before = rounds
    .filter(({ round }) => round > over)
    .sort((a, b) => a.round - b.round)
    .at(-1);
  const create = (fruitless: number): NextRound => ({
    do: 'create',
    round: last + 1,
    fruitless,
    afterMs: fruitless === 0 ? 0 : Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (fruitless - 1)),
  });
  if (before === undefined) return create(0);
  // Exit code 2: it would be the same in every pod.
  if (before.state === 'failed' && before.reason === 'PodFailurePolicy')
    return { do: 'give_up', reason: `Its pods cannot work: ${sentence(before.message)}` };
  const fruitless = settled > before.settled ? 0 : before.fruitless + 1;
  if (fruitless <= retries) return create(fruitless);
  const how = before.message === '' ? before.state : before.message;
  return {
    do: 'give_up',
    reason:
      `${fruitless === 1 ? 'Its pods ended and' : `Its pods ended ${fruitless} times and`} settled no attempt; the ` +
      `last Job, ${before.name}: ${sentence(how)}`,
  };
}

/** Groups that a trainer requests from an open batch: bodies and replies of their routes. */
import { z } from 'zod';
import { ESTIMATORS } from '../trace/groups/advantages.ts';
import { MAX_REPLAY_SHARE } from '../trace/groups/replay.ts';
import { STALE_RULES } from '../trace/groups/staleness.ts';
import { OUTCOMES } from '../trace/outcome.ts';
import { taskRecord } from './task.ts';

const int = z.number().int();
export const estimator = z.enum(ESTIMATORS);
const outcome = z.enum([...OUTCOMES, 'touched']);

/** Members of a group that run at first: `size` and `extra` together. */
export const MAX_MEMBERS = 1024;
const MAX_DEADLINE_SECONDS = 30 * 24 * 60 * 60;

const size = int.min(1, 'a group has at least one member');
const extra = int.min(0);
const minUsable = int.min(1);
const deadlineSeconds = z
  .number()
  .positive('the deadline is in the past')
  .max(MAX_DEADLINE_SECONDS, 'a deadline is at most 30 days away');

const replay = z.strictObject({
  /** Batches of the store to take them from, in addition to this one. */
  from: z.array(z.string().min(1).max(200)).max(20).default([]),
  /** The largest share of the rollouts of a group that are replayed. */
  share: z.number().positive().max(MAX_REPLAY_SHARE).default(0.25),
  /** How many versions of the weights they may be behind. */
  age: int.min(0).default(4),
  only: z.literal('passed').default('passed'),
});

/** `createBatch {…, open: true, group}`: what its groups are unless their requests say otherwise. */
export const groupSettings = z
  .strictObject({
    /** Members with a reward that make a group complete. */
    size,
    /** Members that start in addition: the first `size` that end with a reward count. */
    extra: extra.default(0),
    /** A group with at least this many can be used at its deadline, or if it cannot be complete. Default: size. */
    min_usable: minUsable.optional(),
    /** From the request to the end of the last member. */
    deadline_s: deadlineSeconds.optional(),
    /** How advantages are computed. */
    estimator: estimator.default('ms_swift'),
    /** A group with a call more than so many versions of the weights behind is stale at its delivery. */
    max_versions: int.min(0).optional(),
    /** What happens then: it is marked, delivered without its rows, as unusable, or gets new members before. */
    stale: z.enum(STALE_RULES).default('mark'),
    /** CEL over the members that count: a group for which it is false is delivered as unusable, without its rows. */
    filter: z.string().min(1).max(2_000).optional(),
    /** Successes of earlier groups of the task that are delivered with a group in which no member passed. */
    replay: replay.optional(),
    /** Gets each finished group as a POST, in addition to the feed. */
    callback: z
      .url({ protocol: /^https?$/, error: 'a callback is an http or https URL' })
      .max(2_000)
      .optional(),
  })
  .superRefine(checkSizes);
export type GroupSettings = z.infer<typeof groupSettings>;

/** Sampling parameters of a group, in the names of agent files. */
export const groupSampling = z.strictObject({
  temperature: z.number().min(0).optional(),
  top_p: z.number().min(0).max(1).optional(),
  max_tokens: int.min(1).optional(),
});
export type GroupSampling = z.infer<typeof groupSampling>;

/** `POST /v1/groups`. Idempotent by `group`, the ID of the trainer. */
export const requestGroup = z.strictObject({
  batch: z.string(),
  group: z
    .string()
    .regex(/^[\w.:-]{1,128}$/, 'a group ID consists of 1 to 128 letters, digits, and _ . : - characters'),
  /** ID of a task of the batch, or a whole task. */
  task: z.union([z.string().min(1), taskRecord]),
  size: size.optional(),
  extra: extra.optional(),
  min_usable: minUsable.optional(),
  deadline_s: deadlineSeconds.optional(),
  /** Groups with a higher number run first. Default: 0. */
  priority: int.min(-1_000_000).max(1_000_000).optional(),
  /** Replaces these parameters of the agent, and of its part of the mix. */
  sampling: groupSampling.optional(),
});
export type RequestGroup = z.infer<typeof requestGroup>;

/** Checks how the numbers of a group fit each other. */
export function checkSizes(
  group: { size: number; extra: number; min_usable?: number | undefined },
  context: { addIssue(issue: { code: 'custom'; path: string[]; message: string }): void },
): void {
  const members = group.size + group.extra;
  if (members > MAX_MEMBERS)
    context.addIssue({
      code: 'custom',
      path: ['size'],
      message: `a group has at most ${MAX_MEMBERS} members, not ${members}`,
    });
  if (group.min_usable !== undefined && group.min_usable > group.size)
    context.addIssue({
      code: 'custom',
      path: ['min_usable'],
      message: `a group of ${group.size} never has ${group.min_usable} usable members`,
    });
}

/**
 * `complete`: as many members as requested have a reward. `short`: fewer, but at least `min_usable`. `failed`: too few.
 */
export const GROUP_STATES = ['open', 'complete', 'short', 'failed', 'cancelled'] as const;
export const groupState = z.enum(GROUP_STATES);
export type GroupState = z.infer<typeof groupState>;

export const groupRow = z.object({
  batch: z.string(),
  group: z.string(),
  /** ID of the task of the dataset. */
  task: z.string(),
  /** Position among the groups of the batch, from 0: the `task_index` of its rollouts. */
  index: int,
  state: groupState,
  /** Why it is not complete. */
  why: z.string().optional(),
  size: int,
  extra: int,
  min_usable: int,
  priority: int,
  /** Sampling parameters that it was requested with. */
  sampling: groupSampling.optional(),
  requested_at: int,
  deadline_at: int.optional(),
  ended_at: int.optional(),
  /** Members with a reward, members that have not ended, and members that replaced lost ones. */
  scored: int,
  open: int,
  replaced: int,
  /** Members with a reward that do not count, because their weights were too old when it would have been delivered. */
  stale: int.optional(),
  /** If the filter of its batch left it out when it was delivered: why, and the tokens of its members. */
  filtered: z.object({ why: z.string(), tokens: int }).optional(),
  /** Rollouts of earlier groups that are delivered with it. */
  replayed: int.optional(),
});
export type GroupRow = z.infer<typeof groupRow>;

/** `GET /v1/groups?batch=<id>[&group=<id>][&after=<index>][&limit=<n>]`: in order of their requests. */
export const groupPage = z.object({ groups: z.array(groupRow), next: int.optional() });
export type GroupPage = z.infer<typeof groupPage>;

/** A member that counts. */
const member = z.object({
  rollout: z.string(),
  attempt: int,
  try: int,
  /** Of the mix of its batch. */
  part: z.string().optional(),
  outcome,
  reward: z.number(),
  advantage: z.number().nullable(),
  steps: int,
  output_tokens: int,
  ms: z.number().optional(),
});

/** A member that ended without a reward, or was replaced because its weights were too old. It is in no statistics. */
const excluded = z.object({
  rollout: z.string(),
  attempt: int,
  try: int,
  outcome,
  why: z.string(),
});

/**
 * A member that was canceled because the group no longer needed it, as it was at that moment. Members that take long
 * are cut more often: a trainer that ignores them learns from short ones.
 */
export const cutMember = z.object({
  rollout: z.string(),
  attempt: int,
  try: int,
  /** `ended`: it had a reward too, but others were earlier. */
  state: z.enum(['queued', 'running', 'held', 'ended']),
  steps: int,
  output_tokens: int,
  /** Since it began. */
  ms: z.number(),
});
export type CutMember = z.infer<typeof cutMember>;

/** Where the row of a replayed rollout is from, and how many versions it is behind (null: none is known). */
const replayedRow = z.object({ batch: z.string(), rollout: z.string(), behind: int.nullable() });

/** A line of the feed. `rows`: as in an export of token groups, with the advantage of their rollout. */
export const finishedGroup = z.object({
  schema: z.literal(1),
  /** `after` of the next request. */
  cursor: z.string(),
  batch: z.string(),
  group: z.string(),
  task: z.string(),
  state: groupState.exclude(['open']),
  /** Whether it has at least `min_usable` members. */
  usable: z.boolean(),
  why: z.string().optional(),
  size: int,
  requested_at: int,
  ended_at: int,
  estimator,
  /** Of the rewards of its members; null without members. */
  mean: z.number().nullable(),
  members: z.array(member),
  /** Those of the members, then those of replayed rollouts, which have `replayed`. */
  rows: z.array(
    z.looseObject({ rollout: z.string(), advantage: z.number().nullable(), replayed: replayedRow.optional() }),
  ),
  excluded: z.array(excluded),
  cut: z.array(cutMember),
  replaced: int,
  /**
   * If it has too old weights: how many versions the oldest call is behind (null: its version was taken back), which
   * members are too old, and whether that dropped its rows.
   */
  stale: z.object({ behind: int.nullable(), members: z.array(z.string()), dropped: z.boolean() }).optional(),
  /** Whether the filter of its batch left it out: then `why` says it, and it has no rows. */
  filtered: z.literal(true).optional(),
  /** Model calls that are in no row, by reason. */
  left_out: z.record(z.string(), int),
});
export type FinishedGroup = z.infer<typeof finishedGroup>;

/** Longest `wait` of the feed, in seconds. */
export const MAX_WAIT_SECONDS = 300;

/** Arguments of the command `cancel_group` of a batch. */
export const cancelGroupArgs = z.object({ group: z.string(), reason: z.string().max(1000).optional() });

/** `GET /v1/batches/<id>/tokens?after=<cursor>&limit=<n>`: token records by task, attempt, and call. */
export const tokenPage = z.object({
  records: z.array(
    z.object({
      rollout: z.string(),
      /** seq of the start of the call. */
      seq: int,
      /** The record as it was captured. */
      tokens: z.unknown(),
    }),
  ),
  /** `after` of the next page. Absent: this is the last one. */
  next: z.string().optional(),
});
export type TokenPage = z.infer<typeof tokenPage>;

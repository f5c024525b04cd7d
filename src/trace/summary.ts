/**
 * The summary row of a rollout, for lists, grids, and reports. The store updates it in every transaction that appends
 * events, with `advanceProgress`.
 */
import { z } from 'zod';
import { rolloutIncidents } from './incidents/ofRollout.ts';
import { calledTools } from './schema/calls.ts';
import { limitKind } from './schema/errors.ts';
import { faultCounts } from './schema/faults.ts';
import { predictedTools } from './schema/prediction.ts';
import { rateCounts } from './schema/rates.ts';
import { errorClass, rolloutStatus, sideUsage, worldOutcome } from './schema.ts';

export const rolloutState = z.enum(['queued', 'running', 'held', 'ended']);
export type RolloutState = z.infer<typeof rolloutState>;

export const CAUSE_KINDS = [
  'check',
  'answer',
  'call',
  'limit',
  'error',
  'infrastructure',
  'cancelled',
  'unscored',
  'unknown',
] as const;

export const cause = z.object({
  /**
   * `check`: a failed check of the score; `answer`: wrong or missing; `call`: a tool call failed and never succeeded;
   * `limit`: the rollout was cut off; `error`: what ended the rollout; `unscored`: nobody can say whether it passed.
   */
  kind: z.enum(CAUSE_KINDS),
  /** The same text for attempts that failed for the same reason: lists group and filter by it. */
  text: z.string(),
  /** Event to look at first: the score, or the start of the call that failed. Absent: the end of the rollout. */
  seq: z.number().int().optional(),
  tool: z.string().optional(),
  class: errorClass.optional(),
});
export type Cause = z.infer<typeof cause>;

/** A failed call whose tool has not succeeded since. */
export const failedCall = z.object({
  seq: z.number().int(),
  tool: z.string(),
  class: errorClass,
  /** Only the world's state could be changed by it, so an error is a refusal by the world. */
  of_world: z.boolean().optional(),
});
export type FailedCall = z.infer<typeof failedCall>;

/** A hold, as rows list it. */
export const hold = z.object({
  why: z.string(),
  side: z.string(),
  seq: z.number().int(),
  breakpoint: z.string().optional(),
  /** Who holds it: sent the command, made the step, or set the breakpoint. */
  by: z.string().optional(),
  since: z.number().int().optional(),
  /** When it continues by itself. Absent: it waits for as long as it takes. */
  until: z.number().int().optional(),
});
export type HoldSummary = z.infer<typeof hold>;

/** What one scorer says about a rollout after its end. The verdict written at the end is the reward. */
export const verdict = z.object({
  value: z.number().nullable(),
  passed: z.boolean().nullable(),
  /** Of a published world. */
  outcome: worldOutcome.optional(),
  /** Time of the verdict. */
  at: z.number().int(),
  /** As in the event `score`. */
  version: z.string().optional(),
  by: z.string().optional(),
  run: z.string().optional(),
});
export type Verdict = z.infer<typeof verdict>;

/** The part of a row that follows from the events. */
export const progress = z.object({
  /** Number of steps, without those that a fork shares. A step that was repeated after a takeover counts once. */
  steps: z.number().int(),
  /** Number of the newest step. */
  step: z.number().int().optional(),
  tool_calls: z.number().int(),
  input_tokens: z.number().int(),
  output_tokens: z.number().int(),
  cached_tokens: z.number().int(),
  /** Of the side models; the numbers above are those of the agents alone. */
  side: sideUsage.optional(),
  /** seqs of the side models' calls in progress. */
  open_side: z.array(z.number().int()).optional(),
  /** Oldest and newest version of the weights that sampled replies of each agent (instance path). */
  weights: z.record(z.string(), z.tuple([z.string(), z.string()])).optional(),
  /** Calls whose prompts do not begin with the tokens before, although their messages do. */
  drifts: z.number().int().optional(),
  /** Names of the tools called, in order of first use. */
  tools: z.array(z.string()),
  /** The current hold. */
  hold: hold.optional(),
  touched: z.boolean(),
  /** The part of the mix of its batch. Known once it has started. */
  part: z.string().optional(),
  /**
   * Its place among the attempts of its task that count, if that is not its number: it replaces one that was lost to
   * infrastructure, or follows replaced ones.
   */
  place: z.number().int().optional(),
  /** A member of a trainer's group that does not count: its weights were too old, and another took its place. */
  replaced: z.boolean().optional(),
  started_at: z.number().int().optional(),
  ended_at: z.number().int().optional(),
  status: rolloutStatus.optional(),
  passed: z.boolean().nullable().optional(),
  reward: z.number().nullable().optional(),
  /** What it came to in a published world. */
  world_outcome: worldOutcome.optional(),
  /** The parts of its score, such as the marks of a judge: the first ones. */
  marks: z.record(z.string(), z.number()).optional(),
  /** The newest later verdict of each scorer: from the batch stream, and never counted as the reward. */
  verdicts: z.record(z.string(), verdict).optional(),
  error_class: errorClass.optional(),
  error_message: z.string().optional(),
  /** Of class `limit`: which one. */
  limit: limitKind.optional(),
  /** Why it did not pass. */
  cause: cause.optional(),
  /** Calls in progress, by seq of their start. */
  open_calls: z.record(z.string(), z.object({ tool: z.string(), of_world: z.boolean().optional() })).optional(),
  /** The newest failed call whose tool has not succeeded since; only while the rollout runs. */
  failed_call: failedCall.optional(),
  /** What the rules of the world did, by rule. While the rollout runs, only the injected calls are counted. */
  faults: z.record(z.string(), faultCounts).optional(),
  /** What its calls say about the world. Set at the end. */
  rates: rateCounts.optional(),
  /** How well a world predicted its calls, by tool. Set at the end. */
  predictions: predictedTools.optional(),
  /** How its calls ended, by tool. Set at the end. */
  calls: calledTools.optional(),
  /** What happened to it outside of its agent. */
  incidents: rolloutIncidents.optional(),
  ms: z.number().optional(),
  cost: z.number().optional(),
  /** Hash of the sampled messages and tool results: equal for duplicates. Set at the end. */
  fingerprint: z.string().optional(),
});
export type Progress = z.infer<typeof progress>;

export const EMPTY_PROGRESS: Progress = {
  steps: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cached_tokens: 0,
  tools: [],
  touched: false,
};

export const rolloutRow = z.object({
  rollout: z.string(),
  batch: z.string(),
  task: z.string(),
  /** Position of the task in the batch, from 0. */
  task_index: z.number().int(),
  attempt: z.number().int(),
  try: z.number().int(),
  state: rolloutState,
  epoch: z.number().int(),
  /** Last durable seq. */
  last: z.number().int(),
  /** Whether this is the rollout that settled its attempt. */
  settles: z.boolean(),
  /** ID of the rollout with the same trajectory and a lower attempt number. */
  duplicate_of: z.string().optional(),
  /** In a batch that rescores another one: ID of the rollout that it scores again. */
  rescores: z.string().optional(),
  worker: z.string().optional(),
  /** Its events were dropped to save space. What is in this row stays. */
  trimmed: z.literal(true).optional(),
  progress,
  /** The batch's revision at which this row last changed: the cursor of batch subscriptions. */
  rev: z.number().int(),
});
export type RolloutRow = z.infer<typeof rolloutRow>;

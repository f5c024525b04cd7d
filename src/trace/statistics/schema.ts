/** The format of `report --json`. Other programs read it: only add fields, never change them. */
import { z } from 'zod';
import { incident } from '../incidents/incident.ts';
import { faultCounts } from '../schema/faults.ts';
import { PREDICTION_PARTS } from '../schema/prediction.ts';
import { rateCounts } from '../schema/rates.ts';
import { sideUsage, worldOutcome } from '../schema.ts';
import { CAUSE_KINDS } from '../summary.ts';

const int = z.number().int().min(0);
const rate = z.number().min(0).max(1);
const interval = z.tuple([z.number(), z.number()]);
/** Values by k, as text. */
const byK = <T extends z.ZodType>(value: T) => z.record(z.string().regex(/^[1-9]\d*$/), value);
/** `tasks`: how many tasks have attempts with this cause. */
const causeShare = z.object({ kind: z.enum(CAUSE_KINDS), attempts: int, tasks: int });
const share = z.object({ attempts: int, passed: int });
const partShare = z.object({
  attempts: int,
  scored: int,
  passed: int,
  tokens: int,
  mean: z.number().nullable().default(null),
  interval: interval.nullable().default(null),
});

/** injected = recovered + worked_around + repeated + gave_up + open. */
const ruleShare = faultCounts.extend({ open: int, attempts: int, passed: int });

/** Means over the predicted calls of a tool: `accuracy` and `parts` without the calls that failed. */
const predictionShare = z.object({
  calls: int,
  failed: int,
  right: int,
  accuracy: rate.nullable(),
  parts: z.partialRecord(z.enum(PREDICTION_PARTS), rate),
});

/** The figures of some of the tasks. */
const taskGroup = z.object({
  tasks: int,
  scored: int,
  passed: int,
  solved: int,
  pass_at: byK(rate.nullable()).nullable(),
  tasks_at: byK(int),
  pass_all: byK(rate.nullable()).nullable(),
});
export type TaskGroup = z.infer<typeof taskGroup>;

/** `missing`: attempts that have ended without a value, which do not count in the mean. */
const valueGroup = z.object({ mean: z.number().nullable(), scored: int, missing: int });

export const reportSchema = z.object({
  batch: z.string(),
  tasks: int,
  /** scored + unscored + cancelled + infrastructure + open. */
  attempts: int,
  scored: int,
  unscored: int,
  cancelled: int,
  infrastructure: int,
  /** Not settled yet. */
  open: int,
  /** Included in `open`; the rest is queued. */
  running: int.default(0),
  held: int.default(0),
  /** passed + failed = scored. */
  passed: int,
  failed: int,
  /** Ended by a limit; also included in the other counts. */
  truncated: int,
  /**
   * If tasks get further attempts only while they need them: how many fewer than `most` per task they have so far, and
   * tasks with both outcomes. pass@k is then of the first `least` attempts of each task. null: a fixed number.
   */
  adaptive: z
    .object({ least: int, most: int, until: z.enum(['informative', 'solved']), saved: int, informative: int })
    .nullable()
    .default(null),
  /** Of `truncated`: by the `stop.rollout` of the batch, and the tokens that they had used. */
  stopped: z.object({ attempts: int, tokens: int }).default({ attempts: 0, tokens: 0 }),
  /** Tasks with at least one passed attempt. */
  solved: int,
  /** Unbiased pass@k: mean over the tasks with at least k scored attempts. */
  pass_at: byK(rate.nullable()).nullable(),
  /** Number of tasks with at least k scored attempts. */
  tasks_at: byK(int),
  /** Unbiased pass^k: all of k attempts pass. */
  pass_all: byK(rate.nullable()).nullable(),
  intervals: z.object({
    level: rate,
    method: z.string(),
    pass_at: byK(interval.nullable()).nullable(),
    pass_all: byK(interval.nullable()).nullable(),
  }),
  /** Of all rollouts, including tries that do not count. */
  tokens: z.object({ input: int, output: int, cached: int }).nullable(),
  /** Of side models (simulated user, judge), which `tokens` and `cost` do not include. null: there were no calls. */
  side: sideUsage.nullable(),
  /** Durations of the rollouts that count, without holds. */
  ms: z
    .object({ p50: z.number(), p95: z.number(), p99: z.number().optional(), max: z.number(), total: z.number() })
    .nullable(),
  /**
   * Ended rollouts that count, per hour: of an ended batch over the time that it ran, else over the last minutes.
   * Waits and holds are included.
   */
  per_hour: z.number().min(0).nullable().default(null),
  /** Of all rollouts, including tries that do not count. */
  cost: z.number().nullable(),
  cost_per_solved: z.number().nullable(),
  /** Attempts with the same trajectory as an earlier attempt. They count like all others. */
  duplicates: int,
  /** Ended attempts by the class of the error that ended them. */
  by_error: z.record(z.string(), share),
  /** Ended attempts that did not pass, by cause, most frequent first. */
  by_cause: z.record(z.string(), causeShare).default({}),
  /** Attempts by what they came to in a published world, as far as it judged them; empty for other worlds. */
  by_outcome: z.partialRecord(worldOutcome, int).default({}),
  /** Scored attempts by tools that they called. */
  by_tool: z.record(z.string(), share),
  /** Whether the rules of its world applied; null: it has none. */
  perturbed: z.boolean().nullable().default(null),
  /** What the faults of each rule did, and the scored attempts that it hit (see `recovery.ts`). */
  by_rule: z.record(z.string(), ruleShare).default({}),
  /**
   * What the attempts' own calls say about the world: cases that can be decided, and those in which it did what it must
   * (see `control/worldChecks.ts`).
   */
  rates: rateCounts.default({}),
  /**
   * How well a world predicted the calls of each tool, the worst first (see `prediction/statistics.ts`). Empty without
   * predictions.
   */
  predictions: z.record(z.string(), predictionShare).default({}),
  /** Over the predicted calls of all tools. null: no call has a prediction with a value. */
  prediction_accuracy: rate.nullable().default(null),
  /** How the agents' calls ended (see `toolCalls/rated.ts`). null: none was recorded. */
  calls: z.object({ made: int, succeeded: int, valid: int }).nullable().default(null),
  /**
   * Attempts that have started, by the part of the mix of the batch. `tokens`: of the rollouts that count. `mean`: of
   * their rewards, with an interval over tasks (see `intervals`). Empty without a mix.
   */
  by_part: z.record(z.string(), partShare).default({}),
  /** Empty unless tasks have levels. */
  by_level: z.record(z.string(), taskGroup),
  /** Empty unless tasks name scenarios of their world. */
  by_scenario: z.record(z.string(), taskGroup).default({}),
  /**
   * Means of the values of scores, over the attempts (`mean`) and over the levels (`macro`). null: all values are 0 or
   * 1, so that pass rates say the same. `judge`: the model that marked predicted observations. `marks`: means of the
   * parts of scores, on their own scales.
   */
  value: valueGroup
    .extend({
      macro: z.number().nullable(),
      by_level: z.record(z.string(), valueGroup),
      marks: z
        .record(z.string(), z.object({ mean: z.number(), scored: int, by_level: z.record(z.string(), z.number()) }))
        .default({}),
      judge: z.string().nullable(),
    })
    .nullable()
    .default(null),
  /**
   * Groups of attempts of a task by what a trainer can learn from them (see `groups/group.ts`): `some`: rewards differ;
   * `none`: all that count are equal; `open`: not known yet; `excluded`: no attempt counts.
   */
  groups: z
    .object({ some: int, none: int, open: int, excluded: int })
    .default({ some: 0, none: 0, open: 0, excluded: 0 }),
  /** Tokens that a trainer learns nothing from, in parts (see `groups/figures.ts`). */
  wasted: z.object({ tries: int, excluded: int, no_signal: int }).default({ tries: 0, excluded: 0, no_signal: 0 }),
  /**
   * Tasks that a curriculum left out by their pass rates in the batch `by`, tasks that it kept without one, and how
   * many attempts that saved (null: the tasks have no fixed number).
   */
  curriculum: z
    .object({
      by: z.string(),
      too_hard: int,
      too_easy: int,
      unknown: int,
      saved: int.nullable(),
      /** Tasks that it kept when the batch was sent. */
      kept: int.optional(),
      /** If its band moves: tasks that are outside now, and their scored attempts. */
      outside: int.optional(),
      outside_attempts: int.optional(),
      /** How often tasks left the band or came back. */
      moves: int.optional(),
      /** Attempts that ended without having begun, because their tasks were outside. */
      not_begun: int.optional(),
    })
    .nullable()
    .default(null),
  /**
   * Tokens that the attempts of a task may use and what they may cost (null: no limit), how many of the tasks used
   * that, their attempts that have not begun, and what all others have left of it. null: there is no such limit.
   */
  budget: z
    .object({
      tokens: int.nullable(),
      cost: z.number().nullable().default(null),
      spent: int,
      of: int.default(0),
      not_begun: int.default(0),
      unspent: z.object({ tokens: int.nullable(), cost: z.number().nullable() }).default({ tokens: null, cost: null }),
    })
    .nullable()
    .default(null),
  /** Groups that the filter of the batch left out when they were delivered, and the tokens of their members. */
  filtered: z.object({ groups: int, tokens: int }).default({ groups: 0, tokens: 0 }),
  /** Groups that were delivered with rollouts of earlier groups, and how many of these. */
  replayed: z.object({ groups: int, rollouts: int }).default({ groups: 0, rollouts: 0 }),
  /** Rollouts that infrastructure failures ended, of all that have ended, including tries that do not count. */
  lost: z.object({ rollouts: int, of: int }).default({ rollouts: 0, of: 0 }),
  /** Attempts with calls whose prompts did not begin with the tokens before, of all that have ended, and such calls. */
  drift: z.object({ attempts: int, of: int, calls: int }).default({ attempts: 0, of: 0, calls: 0 }),
  /** Attempts by the newest version of the weights that sampled them, from old to new. */
  versions: z.array(z.tuple([z.string(), int])).default([]),
  /** What happened outside of the agents (see `incidents/tally.ts`). None of it changes the other figures. */
  incidents: z.array(incident).default([]),
  /** Reasons for null fields, by name: `cost`, `pass_at`, `pass_at.8`. */
  why: z.record(z.string(), z.string()),
});
export type Report = z.infer<typeof reportSchema>;

const difference = z.object({
  here: rate,
  baseline: rate,
  difference: z.number(),
  interval: interval.nullable(),
  tasks: int,
});

/** `compared`: calls of tools that have references. `right`: calls whose parameters are accurate. */
const callCounts = z.object({ made: int, succeeded: int, valid: int, compared: int, right: int });
export type CallCounts = z.infer<typeof callCounts>;

export const comparisonSchema = z.object({
  batch: z.string(),
  baseline: z.string(),
  /** Tasks that both have. */
  tasks: int,
  only_here: z.array(z.string()),
  only_in_baseline: z.array(z.string()),
  /** Over the tasks with at least k scored attempts in both. Paired, so a task that is hard in both cancels out. */
  pass_at: byK(difference).nullable(),
  pass_all: byK(difference).nullable(),
  intervals: z.object({ level: rate, method: z.string() }),
  /** Whether the rules of the worlds applied; null: a batch has none. */
  perturbed: z.object({ here: z.boolean().nullable(), baseline: z.boolean().nullable() }),
  /** Scored attempts that both have, by task and number, by where they passed. */
  pairs: z.object({ attempts: int, both: int, only_here: int, only_in_baseline: int, neither: int }),
  /**
   * If rules applied in one of the batches only: the pairs that each rule hit there, how many of them passed there, and
   * how many in the other one.
   */
  by_rule: z.record(z.string(), z.object({ attempts: int, passed: int, passed_without: int })),
  /**
   * How well the agents called their tools, over the tasks with calls in both (see `callRates.ts`). null: the reason is
   * in `why`.
   */
  calls: z
    .object({
      here: callCounts,
      baseline: callCounts,
      tool_success: difference,
      parameter_accuracy: difference,
      method: z.string(),
    })
    .nullable()
    .default(null),
  /** Number of tasks by change of their share of passed attempts. */
  better: int,
  worse: int,
  same: int,
  /** Tasks that differ, largest difference first. */
  changed: z.array(z.object({ task: z.string(), here: rate, baseline: rate, difference: z.number() })),
  why: z.record(z.string(), z.string()),
});
export type Comparison = z.infer<typeof comparisonSchema>;

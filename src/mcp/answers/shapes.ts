/** Output schemas of batches and attempts. */
import { z } from 'zod';
import { oneLine } from '../../common/text.ts';
import { type BatchRow, batchState } from '../../protocol/client.ts';
import { causeOf } from '../../trace/cause.ts';
import { heldText, holdOf } from '../../trace/holder.ts';
import { OUTCOMES, outcomeOf } from '../../trace/outcome.ts';
import { errorClass, sideUsage, worldOutcome } from '../../trace/schema.ts';
import type { RolloutRow } from '../../trace/summary.ts';

const count = z.number().int().min(0);
const MAX_TOOLS = 20;
const MAX_MESSAGE = 300;

export const batchShape = z.object({
  batch: z.string().describe('ID of the batch'),
  name: z.string(),
  state: batchState,
  reason: z.string().optional().describe('Why it ended'),
  created: z.string().describe('ISO time'),
  ended: z.string().optional(),
  tasks: count,
  attempts: count.describe('Attempts per task'),
  counts: z
    .object({
      passed: count,
      failed: count,
      unscored: count,
      cancelled: count,
      infrastructure: count,
      running: count,
      held: count,
      queued: count,
    })
    .describe('Attempts by outcome'),
  input_tokens: count,
  output_tokens: count,
  side_tokens: z
    .object({ input: count, output: count })
    .optional()
    .describe('Tokens of side models (simulated user, judge), which the other tokens do not include'),
  imported: z.boolean(),
  debug: z.boolean().optional().describe('A run of a debugger: its figures say nothing about the agent'),
  forked_from: z.string().optional().describe('ROLLOUT@SEQ if it is a fork'),
  differs: z.array(z.string()).optional().describe('How a fork’s code and configuration differ from its parent’s'),
});

export function batchData(row: BatchRow): z.input<typeof batchShape> {
  const { batch, name, state, reason, tasks, attempts, counts, input_tokens, output_tokens, imported, parent } = row;
  return {
    batch,
    name,
    state,
    tasks,
    attempts,
    counts,
    input_tokens,
    output_tokens,
    ...(row.side_tokens === undefined ? {} : { side_tokens: row.side_tokens }),
    imported,
    ...(row.debug === true ? { debug: true } : {}),
    created: new Date(row.created_at).toISOString(),
    ...(row.ended_at === undefined ? {} : { ended: new Date(row.ended_at).toISOString() }),
    ...(reason === undefined ? {} : { reason }),
    ...(parent === undefined
      ? {}
      : {
          forked_from: `${parent.rollout}@${parent.seq}`,
          ...(parent.differs === undefined ? {} : { differs: parent.differs }),
        }),
  };
}

export const outcome = z.enum(OUTCOMES);

export const attemptShape = z.object({
  reference: z.string().describe('BATCH/TASK/ATTEMPT, for use with other tools'),
  rollout: z.string().describe('ID of the rollout that counts for the attempt'),
  task: z.string(),
  attempt: count,
  part: z.string().optional().describe('The part of the mix of its batch'),
  outcome,
  reward: z.number().nullable(),
  world_outcome: worldOutcome.optional().describe('What it came to in a published world'),
  steps: count,
  tool_calls: count,
  tools: z.array(z.string()).describe('Tools it called, in order of first use'),
  input_tokens: count,
  output_tokens: count,
  side: sideUsage.optional().describe('Calls and tokens of side models, which the other numbers do not include'),
  ms: z.number().optional(),
  cause: z.string().optional().describe('Why it did not pass; the same for attempts that failed for the same reason'),
  error_class: errorClass.optional(),
  error_message: z.string().optional(),
  held_at: z.number().int().optional().describe('seq of the gate where it is held'),
  held: z.string().optional().describe('Who holds it, and until when; resume_batch with its reference releases it'),
});

export function attemptData(row: RolloutRow): z.input<typeof attemptShape> {
  const { progress } = row;
  const cause = causeOf(row);
  const hold = holdOf(row);
  return {
    reference: attemptReference(row),
    rollout: row.rollout,
    task: row.task,
    attempt: row.attempt,
    ...(progress.part === undefined ? {} : { part: progress.part }),
    outcome: outcomeOf(row),
    reward: progress.reward ?? null,
    ...(progress.world_outcome === undefined ? {} : { world_outcome: progress.world_outcome }),
    steps: progress.steps,
    tool_calls: progress.tool_calls,
    tools: progress.tools.slice(0, MAX_TOOLS),
    input_tokens: progress.input_tokens,
    output_tokens: progress.output_tokens,
    ...(progress.side === undefined ? {} : { side: progress.side }),
    ...(progress.ms === undefined ? {} : { ms: progress.ms }),
    ...(cause === undefined ? {} : { cause: oneLine(cause.text, MAX_MESSAGE) }),
    ...(progress.error_class === undefined ? {} : { error_class: progress.error_class }),
    ...(progress.error_message === undefined ? {} : { error_message: oneLine(progress.error_message, MAX_MESSAGE) }),
    ...(hold === undefined ? {} : { held_at: hold.seq, held: heldText(hold, Date.now()) }),
  };
}

export function attemptReference({ batch, task, attempt }: Pick<RolloutRow, 'batch' | 'task' | 'attempt'>): string {
  return `${batch}/${task}/${attempt}`;
}

/** Returns a reference to a try: its attempt if it settled it, or else its own ID. */
export function tryReference(row: Pick<RolloutRow, 'batch' | 'task' | 'attempt' | 'settles' | 'rollout'>): string {
  return row.settles ? attemptReference(row) : row.rollout;
}

// Arguments that several tools share.
export const BATCH = z
  .string()
  .default('last')
  .describe('ID of the batch; `last` is the newest that is not a debug run');
export const CURSOR = z
  .string()
  .optional()
  .describe('next_cursor of the previous response, with the same other arguments');
export const NEXT = z.string().optional().describe('Pass it as `cursor` to get the next page; absent at the end');

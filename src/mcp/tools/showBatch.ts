import { z } from 'zod';
import { batchSnapshot } from '../../client/commands/batchSnapshot.ts';
import { reportInput } from '../../client/commands/reportInput.ts';
import { resolveBatch } from '../../client/reference.ts';
import { agreementText } from '../../client/text/agreementText.ts';
import { batchHeading, heldAttempts } from '../../client/text/batchText.ts';
import { forkText } from '../../client/text/forkText.ts';
import { reportText } from '../../client/text/reportText.ts';
import { table } from '../../client/text/table.ts';
import { oneLine } from '../../common/text.ts';
import type { Api } from '../../protocol/api.ts';
import { forkRates } from '../../protocol/forkParent.ts';
import { agreementOf } from '../../trace/agreement/agreement.ts';
import { causeOf } from '../../trace/cause.ts';
import { attemptRow } from '../../trace/outcome.ts';
import { forkRates as forkRatesShape } from '../../trace/statistics/forkRates.ts';
import { reportSchema } from '../../trace/statistics/schema.ts';
import { report } from '../../trace/statistics.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { REWARD, rowsByScorer, scorersOf } from '../../trace/verdicts.ts';
import { attemptReference, BATCH, batchData, batchShape } from '../answers/shapes.ts';
import { type Answer, defineTool } from '../tool.ts';

const WIDTH = 120;
const MAX_TASKS = 25;
const MAX_CAUSES = 12;
const MAX_NAMES = 40;
const MAX_MESSAGE = 240;

const hardTask = z.object({ task: z.string(), passed: z.number().int(), scored: z.number().int() });
const causeGroup = z.object({
  cause: z.string(),
  attempts: z.number().int(),
  tasks: z.number().int(),
  example: z.string(),
  message: z.string().optional().describe('Error of the example'),
});

const output = z.object({
  batch: batchShape,
  report: reportSchema.describe(
    'pass_at: unbiased pass@k by k; pass_all: pass^k; intervals of both; shares by cause, error class, tool, level; ' +
      'by_rule: what agents did after injected faults; by_outcome: attempts by what published worlds said; ' +
      'predictions: how well a world predicted the calls of each tool',
  ),
  hardest_tasks: z
    .array(hardTask)
    .describe('Tasks with the lowest share of passed attempts, excluding those that always passed'),
  causes: z
    .array(causeGroup)
    .describe('Why attempts did not pass, most frequent first, each with an example; list_attempts filters by them'),
  fork: forkRatesShape
    .optional()
    .describe(
      'For a fork: its pass@k from the fork point compared with its parent’s; siblings = the parent’s attempts on ' +
        'the same path',
    ),
  verdicts: z
    .object({
      scorers: z.array(z.object({ scorer: z.string(), judged: z.number().int(), passed: z.number().int() })),
      alpha: z.number().nullable(),
      disagreements: z.number().int(),
    })
    .optional()
    .describe(
      'The reward and later verdicts by scorer, with Krippendorff’s alpha, and the number of attempts on which they ' +
        'disagree',
    ),
  left_out: z.record(z.string(), z.number().int()).describe('Number of omitted entries per list'),
});
type ShownBatch = z.input<typeof output>;

export const showBatch = defineTool({
  name: 'show_batch',
  title: 'Show a batch',
  description:
    'Returns the report of a batch: pass@k and pass^k with intervals, outcomes by cause and tool, tokens, times, ' +
    'and hardest tasks. Start here when asked how an agent performs or why a batch ' +
    'failed.',
  input: z.strictObject({
    batch: BATCH,
    scorer: z
      .string()
      .default(REWARD)
      .describe('Use the verdicts of this scorer instead of the reward; `verdicts` lists the scorers'),
    ks: z.array(z.number().int().min(1).max(1000)).max(8).default([]).describe('Additional k values for pass@k'),
  }),
  output,
  effect: 'read',
  async run({ batch, scorer, ks }, { api, signal }) {
    return batchAnswer(api, await resolveBatch(api, batch, signal), ks, signal, scorer);
  },
});

/** Builds the report of a batch, for the tool, the resource, and the prompts. */
export async function batchAnswer(
  api: Api,
  id: string,
  ks: readonly number[],
  signal: AbortSignal,
  scorer = REWARD,
): Promise<Answer<ShownBatch>> {
  const { batch: row, rows: all } = await batchSnapshot(api, id, signal);
  const rows = rowsByScorer(all, scorer);
  const verdicts = scorersOf(all).length === 0 ? undefined : agreementOf(id, all);
  const whole = report(await reportInput(api, row, ks, signal, rows));
  const attempts = attemptsOf(rows);
  const hardest = hardTasks(attempts);
  const causes = causeGroups(attempts);
  const fork = await forkRates(api, row, rows, signal);
  const leftOut: Record<string, number> = {};
  const data: ShownBatch = {
    batch: batchData(row),
    report: {
      ...whole,
      by_cause: few('causes of the report', whole.by_cause, leftOut),
      by_error: few('error classes', whole.by_error, leftOut),
      by_tool: few('tools', whole.by_tool, leftOut),
      by_rule: few('rules', whole.by_rule, leftOut),
      predictions: few('predicted tools', whole.predictions, leftOut),
      by_level: few('levels', whole.by_level, leftOut),
      by_scenario: few('scenarios', whole.by_scenario, leftOut),
      ...(whole.value === null
        ? {}
        : { value: { ...whole.value, by_level: few('levels of values', whole.value.by_level, leftOut) } }),
    },
    hardest_tasks: hardest.slice(0, MAX_TASKS),
    causes: causes.slice(0, MAX_CAUSES),
    ...(fork === undefined ? {} : { fork }),
    ...(verdicts === undefined
      ? {}
      : {
          verdicts: {
            scorers: verdicts.scorers.map((each) => ({ ...each })),
            alpha: verdicts.alpha,
            disagreements: verdicts.disagreements.length,
          },
        }),
    left_out: leftOut,
  };
  if (hardest.length > MAX_TASKS) leftOut['hardest_tasks'] = hardest.length - MAX_TASKS;
  if (causes.length > MAX_CAUSES) leftOut['causes'] = causes.length - MAX_CAUSES;
  const parts = [batchHeading(row, WIDTH), reportText({ ...whole, by_level: data.report.by_level }, WIDTH)];
  const held = heldAttempts(rows, Date.now());
  if (held !== '') parts.push(held);
  if (fork !== undefined) parts.push(forkText(fork));
  if (verdicts !== undefined) parts.push(agreementText(verdicts));
  if (data.hardest_tasks.length > 0) {
    const rows = data.hardest_tasks.map(({ task, passed, scored }) => [task, `${passed}/${scored}`]);
    parts.push(table([['hardest tasks', 'passed'], ...rows], [1]) + more(leftOut['hardest_tasks']));
  }
  if (data.causes.length > 0) {
    const lines = data.causes.map(
      ({ cause, attempts: n, example, message }) =>
        `  ${n} x ${cause}  (e.g. ${example}${message === undefined ? '' : `: ${message}`})`,
    );
    parts.push(['causes', ...lines].join('\n') + more(leftOut['causes']));
  }
  return { data, text: parts.join('\n\n') };
}

function more(leftOut: number | undefined): string {
  return leftOut === undefined ? '' : `\n  and ${leftOut} more; see list_attempts`;
}

function attemptsOf(rows: readonly RolloutRow[]): RolloutRow[] {
  return [...Map.groupBy(rows, attemptReference).values()].flatMap((tries) => attemptRow(tries) ?? []);
}

function hardTasks(attempts: readonly RolloutRow[]): z.infer<typeof hardTask>[] {
  return [...Map.groupBy(attempts, (row) => row.task)]
    .flatMap(([task, of]) => {
      const scored = of.filter((row) => row.settles && typeof row.progress.passed === 'boolean');
      const passed = scored.filter((row) => row.progress.passed === true).length;
      return passed < scored.length ? [{ task: oneLine(task, MAX_MESSAGE), passed, scored: scored.length }] : [];
    })
    .sort((a, b) => a.passed / a.scored - b.passed / b.scored || b.scored - a.scored);
}

function causeGroups(attempts: readonly RolloutRow[]): z.infer<typeof causeGroup>[] {
  const failed = attempts.filter((row) => causeOf(row) !== undefined);
  return [...Map.groupBy(failed, (row) => causeOf(row)?.text ?? '')]
    .flatMap(([cause, rows]) => {
      const [first] = rows;
      if (first === undefined) return [];
      const message = first.progress.error_message;
      return [
        {
          cause: oneLine(cause, MAX_MESSAGE),
          attempts: rows.length,
          tasks: new Set(rows.map(({ task }) => task)).size,
          example: attemptReference(first),
          ...(message === undefined ? {} : { message: oneLine(message, MAX_MESSAGE) }),
        },
      ];
    })
    .sort((a, b) => b.attempts - a.attempts);
}

/** Returns the first entries of a record and counts the omitted ones. */
function few<T>(what: string, record: Readonly<Record<string, T>>, leftOut: Record<string, number>): Record<string, T> {
  const entries = Object.entries(record);
  if (entries.length > MAX_NAMES) leftOut[what] = entries.length - MAX_NAMES;
  return Object.fromEntries(entries.slice(0, MAX_NAMES));
}

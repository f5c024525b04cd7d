/** The attempts of a batch as comma-separated values (RFC 4180). */
import { pipeline, Readable } from 'node:stream';
import { stringify } from 'csv-stringify';
import type { Json } from '../../common/json.ts';
import { outcomeOf } from '../../trace/outcome.ts';
import { type PredictionAccuracy, PredictionTallies } from '../../trace/prediction/statistics.ts';
import type { FaultCounts } from '../../trace/schema/faults.ts';
import { addCalls } from '../../trace/statistics/callRates.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { ExportedAttempt } from './exportedAttempts.ts';

type Cell = string | number | boolean | null | undefined;

/** Column → its value; times are ISO 8601 in UTC, `seconds` is the time from start to end. */
const COLUMNS: Readonly<Record<string, (row: RolloutRow, attempt: ExportedAttempt) => Cell>> = {
  batch: (row) => row.batch,
  task: (row) => row.task,
  attempt: (row) => row.attempt,
  rollout: (row) => row.rollout,
  outcome: (row) => outcomeOf(row),
  cause: (row) => row.progress.cause?.text,
  cause_kind: (row) => row.progress.cause?.kind,
  scenario: (_row, { scenario }) => scenario,
  question: (_row, { question }) => question,
  answer: (_row, { answer }) => textOf(answer),
  expected_answer: (_row, { expected }) => textOf(expected),
  passed: (row) => row.progress.passed,
  reward: (row) => row.progress.reward,
  group: (_row, { member }) => member?.group,
  advantage: (_row, { member }) => member?.advantage,
  excluded: (_row, { member }) => member?.why,
  world_outcome: (row) => row.progress.world_outcome,
  verdicts: (row) => verdictsText(row),
  error_class: (row) => row.progress.error_class,
  steps: (row) => row.progress.steps,
  tool_calls: (row) => row.progress.tool_calls,
  input_tokens: (row) => row.progress.input_tokens,
  output_tokens: (row) => row.progress.output_tokens,
  cached_tokens: (row) => row.progress.cached_tokens,
  cost: (row) => row.progress.cost,
  side_calls: (row) => row.progress.side?.calls ?? 0,
  side_input_tokens: (row) => row.progress.side?.input_tokens ?? 0,
  side_output_tokens: (row) => row.progress.side?.output_tokens ?? 0,
  side_cached_tokens: (row) => row.progress.side?.cached_tokens ?? 0,
  side_cost: (row) => row.progress.side?.cost,
  injected_faults: (row) => faultsOf(row, 'injected'),
  recovered_faults: (row) => faultsOf(row, 'recovered'),
  controllability_checked: (row) => row.progress.rates?.controllability?.checked ?? 0,
  controllability_held: (row) => row.progress.rates?.controllability?.held ?? 0,
  error_handling_checked: (row) => row.progress.rates?.error_handling?.checked ?? 0,
  error_handling_held: (row) => row.progress.rates?.error_handling?.held ?? 0,
  consistency_checked: (row) => row.progress.rates?.consistency?.checked ?? 0,
  consistency_held: (row) => row.progress.rates?.consistency?.held ?? 0,
  ended_calls: (row) => callsOf(row).made,
  succeeded_calls: (row) => callsOf(row).succeeded,
  valid_calls: (row) => callsOf(row).valid,
  predicted_calls: (row) => predictionsOf(row).overall().calls,
  failed_predictions: (row) => predictionsOf(row).overall().failed,
  prediction_accuracy: (row) => predictionsOf(row).overall().accuracy,
  prediction_accuracy_by_tool: (row) => accuraciesText(predictionsOf(row).accuracies()),
  started_at: (row) => isoTime(row.progress.started_at),
  seconds: ({ progress: { started_at: start, ended_at: end } }) =>
    start === undefined || end === undefined ? undefined : (end - start) / 1000,
  touched: (row) => row.progress.touched,
  duplicate_of: (row) => row.duplicate_of,
  worker: (row) => row.worker,
  part: (row) => row.progress.part,
};

function faultsOf({ progress }: RolloutRow, which: keyof FaultCounts): number {
  return Object.values(progress.faults ?? {}).reduce((sum, counts) => sum + counts[which], 0);
}

function callsOf({ progress }: RolloutRow): ReturnType<typeof addCalls> {
  return addCalls(null, progress.calls ?? {});
}

function predictionsOf({ progress }: RolloutRow): PredictionTallies {
  const tallies = new PredictionTallies();
  tallies.addSums(progress.predictions ?? {});
  return tallies;
}

/** The accuracy of each tool as JSON, the worst first. */
function accuraciesText(tools: readonly PredictionAccuracy[]): string | undefined {
  if (tools.length === 0) return undefined;
  return JSON.stringify(Object.fromEntries(tools.map(({ name, accuracy }) => [name, accuracy])));
}

/** Attempts whose texts are read at the same time. */
const AT_A_TIME = 8;

/**
 * Returns the file's text in parts: a header, then a row per attempt in the given order. `complete` reads what a row
 * does not have. Text that a spreadsheet would run as a formula starts with an apostrophe, because models and tools can
 * choose it.
 */
export function attemptsCsv(
  rows: AsyncIterable<RolloutRow>,
  complete: (row: RolloutRow) => Promise<ExportedAttempt>,
): AsyncIterable<Buffer> {
  const cellsOf = async (row: RolloutRow): Promise<Cell[]> => {
    const attempt = await complete(row);
    return Object.values(COLUMNS).map((valueOf) => valueOf(attempt.row, attempt));
  };
  const csv = stringify({
    header: true,
    columns: Object.keys(COLUMNS),
    escape_formulas: true,
    record_delimiter: 'windows',
    cast: { boolean: String },
  });
  // Readers of `csv` get an error of the rows.
  pipeline(Readable.from(rows).map(cellsOf, { concurrency: AT_A_TIME }), csv, () => undefined);
  return csv;
}

/** Later verdicts as JSON, by scorer: whether the attempt passed. */
function verdictsText({ progress: { verdicts } }: RolloutRow): string | undefined {
  if (verdicts === undefined) return undefined;
  return JSON.stringify(Object.fromEntries(Object.entries(verdicts).map(([scorer, { passed }]) => [scorer, passed])));
}

/** Texts as they are, other values as JSON, nothing for no answer. */
function textOf(value: Json | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

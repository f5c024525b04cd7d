/** The attempts of a batch as comma-separated values (RFC 4180). */
import { pipeline, Readable } from 'node:stream';
import { stringify } from 'csv-stringify';
import { outcomeOf } from '../trace/outcome.ts';
import type { RolloutRow } from '../trace/summary.ts';

type Cell = string | number | boolean | null | undefined;

/** Column → its value; times are ISO 8601 in UTC, `seconds` is the time from start to end. */
const COLUMNS: Readonly<Record<string, (row: RolloutRow) => Cell>> = {
  batch: (row) => row.batch,
  task: (row) => row.task,
  attempt: (row) => row.attempt,
  rollout: (row) => row.rollout,
  outcome: (row) => outcomeOf(row),
  cause: (row) => row.progress.cause?.text,
  cause_kind: (row) => row.progress.cause?.kind,
  passed: (row) => row.progress.passed,
  reward: (row) => row.progress.reward,
  error_class: (row) => row.progress.error_class,
  steps: (row) => row.progress.steps,
  tool_calls: (row) => row.progress.tool_calls,
  input_tokens: (row) => row.progress.input_tokens,
  output_tokens: (row) => row.progress.output_tokens,
  cached_tokens: (row) => row.progress.cached_tokens,
  cost: (row) => row.progress.cost,
  started_at: (row) => isoTime(row.progress.started_at),
  seconds: ({ progress: { started_at: start, ended_at: end } }) =>
    start === undefined || end === undefined ? undefined : (end - start) / 1000,
  touched: (row) => row.progress.touched,
  duplicate_of: (row) => row.duplicate_of,
  worker: (row) => row.worker,
};

/**
 * Returns the file's text in parts: a header, then a row per attempt in the given order. Text that a spreadsheet would
 * run as a formula starts with an apostrophe, because models and tools can choose it.
 */
export function attemptsCsv(rows: AsyncIterable<RolloutRow>): AsyncIterable<Buffer> {
  const csv = stringify({
    header: true,
    columns: Object.keys(COLUMNS),
    escape_formulas: true,
    record_delimiter: 'windows',
    cast: { boolean: String },
  });
  pipeline(Readable.from(records(rows)), csv, () => undefined); // readers of `csv` get an error of the rows
  return csv;
}

async function* records(rows: AsyncIterable<RolloutRow>): AsyncGenerator<Cell[]> {
  for await (const row of rows) yield Object.values(COLUMNS).map((valueOf) => valueOf(row));
}

function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

/** Reads datasets as streams of tasks, so that files can have any size. */
import { isJsonObject } from '../../common/json.ts';
import { AWM_FILES } from '../../formats/awmFiles.ts';
import type { Files } from '../files.ts';
import { basename, dirname } from '../paths.ts';
import type { DATASET_FORMATS } from '../schema/batchFile.ts';
import type { Problem } from '../source/problem.ts';
import { benchRecords } from './bench.ts';
import { type Columns, type FileTask, GAIA_EXAMPLE, taskOf } from './columns.ts';
import { csvRecords } from './csv.ts';
import { jsonArrayRecords } from './jsonArray.ts';
import { jsonlRecords } from './jsonl.ts';
import { agentWorldRecords, awmRecords } from './published.ts';
import type { RawRecord } from './record.ts';
import { NotUtf8 } from './text.ts';

export type DatasetFormat = (typeof DATASET_FORMATS)[number];

export interface DatasetSpec {
  readonly path: string;
  readonly format: DatasetFormat;
  readonly columns: Columns;
  /** Records to skip at the start; `limit` then bounds how many are read. */
  readonly offset: number;
  readonly limit?: number;
  /** Only tasks of these scenarios. */
  readonly scenarios?: ReadonlySet<string>;
  /** Only tasks with these ids. */
  readonly only?: ReadonlySet<string>;
  /** No tasks with these ids. They do not count for `offset` and `limit`. */
  readonly except?: ReadonlySet<string>;
}

/** Formats of published benchmarks, whose broken records are left out instead of refusing the dataset. */
const LENIENT: ReadonlySet<DatasetFormat> = new Set(['agentworldbench']);

/** A task and the first line of its record. */
export interface DatasetItem {
  readonly task: FileTask;
  /** If the dataset has several files. */
  readonly file?: string;
  readonly line: number;
}

/** Returns the format for the extension of a file name, if it is known. */
export function formatOf(path: string): DatasetFormat | undefined {
  if (basename(path) === AWM_FILES.tasks) return 'awm';
  const ending = /\.(jsonl|ndjson|csv|json)$/i.exec(path)?.[1]?.toLowerCase();
  return ending === 'ndjson' ? 'jsonl' : (ending as DatasetFormat | undefined); // the pattern matches only formats
}

/** Reads the records of a file, without GAIA's example. Throws NotUtf8, and whatever `Files.bytes` throws. */
export async function* rawRecords(files: Files, path: string, format: DatasetFormat): AsyncGenerator<RawRecord> {
  switch (format) {
    case 'awm':
      yield* awmRecords(files, path);
      break;
    case 'agent-world':
      yield* agentWorldRecords(files, path);
      break;
    case 'agentworldbench':
      yield* benchRecords(files, path);
      break;
    case 'csv':
      yield* csvRecords(files.bytes(path));
      break;
    case 'json':
      yield* jsonArrayRecords(files.bytes(path));
      break;
    case 'jsonl':
      yield* jsonlRecords(files.bytes(path));
      break;
    case 'gaia':
      for await (const record of jsonlRecords(files.bytes(path))) {
        if ('value' in record && isJsonObject(record.value) && record.value['task_id'] === GAIA_EXAMPLE) continue;
        yield record;
      }
  }
}

/**
 * Reads the tasks of a dataset in order. Bad records go to `report`, which may throw to stop, and the rest is still
 * read. Only the set of IDs, kept to detect duplicates, grows with the number of tasks. Throws whatever
 * `Files.bytes` throws.
 */
export async function* readTasks(
  files: Files,
  spec: DatasetSpec,
  report: (problem: Problem) => void,
): AsyncGenerator<DatasetItem> {
  const { path, format, columns, offset, scenarios, only, except } = spec;
  const limit = spec.limit ?? Infinity;
  const folder = dirname(path);
  const lines = new Map<string, number>();
  let index = 0;
  let open = only?.size ?? Infinity;
  try {
    for await (const record of rawRecords(files, path, format)) {
      if (index >= offset + limit || open === 0) return;
      if (scenarios !== undefined && !isOf(record, scenarios)) continue;
      if (except !== undefined && isExcepted(record, columns, except)) continue;
      if (index++ < offset) continue;
      const { file = path } = record;
      if ('error' in record) {
        report(recordProblem(file, record, { ...record.error, severity: LENIENT.has(format) ? 'warning' : 'error' }));
        continue;
      }
      // Elements of an array may share a line, so they are numbered by position.
      const result = taskOf(record.value, columns, `#${format === 'json' ? record.number : record.line}`, folder);
      if ('message' in result) {
        report(recordProblem(file, record, result));
        continue;
      }
      const { task, hasId } = result;
      const first = hasId ? lines.get(task.id) : undefined;
      if (first !== undefined) {
        report({
          ...recordProblem(file, record, {
            message: `the id \`${task.id}\` is already used in line ${first}`,
            hint: 'Use a unique id for every task.',
          }),
          code: 'duplicate_id',
        });
        continue;
      }
      if (hasId) lines.set(task.id, record.line);
      if (only?.has(task.id) === false) continue;
      open--;
      yield { task, ...(record.file === undefined ? {} : { file: record.file }), line: record.line };
    }
  } catch (thrown) {
    if (!(thrown instanceof NotUtf8)) throw thrown;
    report(notUtf8Problem(path, thrown));
  }
}

/** Whether a record names one of these scenarios. Broken records may. */
function isOf(record: RawRecord, scenarios: ReadonlySet<string>): boolean {
  if ('error' in record) return true;
  const world = isJsonObject(record.value) ? record.value['world'] : undefined;
  const scenario = isJsonObject(world) ? world['scenario'] : undefined;
  return typeof scenario === 'string' && scenarios.has(scenario);
}

function isExcepted(record: RawRecord, columns: Columns, except: ReadonlySet<string>): boolean {
  const id = 'value' in record && isJsonObject(record.value) ? record.value[columns.names.id] : undefined;
  return (typeof id === 'string' || typeof id === 'number') && except.has(String(id));
}

export function recordProblem(
  file: string,
  at: { line: number; column: number },
  what: { message: string; hint: string; severity?: Problem['severity'] },
): Problem {
  return {
    file,
    line: at.line,
    column: at.column,
    endLine: at.line,
    endColumn: at.column + 1,
    severity: what.severity ?? 'error',
    code: 'dataset',
    message: what.message,
    hint: what.hint,
  };
}

export function notUtf8Problem(file: string, thrown: NotUtf8): Problem {
  return {
    ...recordProblem(
      file,
      { line: thrown.line, column: 1 },
      { message: 'the file is not UTF-8 text', hint: 'Save the file with UTF-8 encoding.' },
    ),
    code: 'syntax',
  };
}

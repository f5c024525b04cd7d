/** Datasets as streams of tasks: a file of any size is read piece by piece. */
import { isJsonObject } from '../../common/json.ts';
import type { Files } from '../files.ts';
import { dirname } from '../paths.ts';
import type { DATASET_FORMATS } from '../schema/batchFile.ts';
import type { Problem } from '../source/problem.ts';
import { type Columns, type FileTask, GAIA_EXAMPLE, taskOf } from './columns.ts';
import { csvRecords } from './csv.ts';
import { jsonArrayRecords } from './jsonArray.ts';
import { jsonlRecords } from './jsonl.ts';
import type { RawRecord } from './record.ts';
import { NotUtf8 } from './text.ts';

export type DatasetFormat = (typeof DATASET_FORMATS)[number];

export interface DatasetSpec {
  readonly path: string;
  readonly format: DatasetFormat;
  readonly columns: Columns;
  /** Records left out first, then most records taken. */
  readonly offset: number;
  readonly limit?: number;
  /** Only tasks with these ids. */
  readonly only?: ReadonlySet<string>;
}

/** One task and the line its record begins at. */
export interface DatasetItem {
  readonly task: FileTask;
  readonly line: number;
}

/** The format a file's name tells; undefined when it tells none. */
export function formatOf(path: string): DatasetFormat | undefined {
  const ending = /\.(jsonl|ndjson|csv|json)$/i.exec(path)?.[1]?.toLowerCase();
  return ending === 'ndjson' ? 'jsonl' : (ending as DatasetFormat | undefined); // the pattern names formats only
}

/** Records as they stand in the file, without GAIA's example. Throws NotUtf8, and what `Files.bytes` throws. */
export async function* rawRecords(files: Files, path: string, format: DatasetFormat): AsyncGenerator<RawRecord> {
  const bytes = files.bytes(path);
  switch (format) {
    case 'csv':
      yield* csvRecords(bytes);
      break;
    case 'json':
      yield* jsonArrayRecords(bytes);
      break;
    case 'jsonl':
      yield* jsonlRecords(bytes);
      break;
    case 'gaia':
      for await (const record of jsonlRecords(bytes)) {
        if ('value' in record && isJsonObject(record.value) && record.value['task_id'] === GAIA_EXAMPLE) continue;
        yield record;
      }
  }
}

/**
 * The tasks of a dataset, in its order. A bad record is told to `report` and the others are still read; `report` may
 * throw to end it. Ids are remembered to find doubled ones: the only thing that grows with the number of tasks.
 * Throws what `Files.bytes` throws.
 */
export async function* readTasks(
  files: Files,
  spec: DatasetSpec,
  report: (problem: Problem) => void,
): AsyncGenerator<DatasetItem> {
  const { path, format, columns, offset, only } = spec;
  const limit = spec.limit ?? Infinity;
  const folder = dirname(path);
  const lines = new Map<string, number>();
  let index = 0;
  let open = only?.size ?? Infinity;
  try {
    for await (const record of rawRecords(files, path, format)) {
      if (index >= offset + limit || open === 0) return;
      if (index++ < offset) continue;
      if ('error' in record) {
        report(recordProblem(path, record, record.error));
        continue;
      }
      // The elements of an array may share one line; their number tells them apart.
      const result = taskOf(record.value, columns, `#${format === 'json' ? record.number : record.line}`, folder);
      if ('message' in result) {
        report(recordProblem(path, record, result));
        continue;
      }
      const { task, named } = result;
      const first = named ? lines.get(task.id) : undefined;
      if (first !== undefined) {
        report({
          ...recordProblem(path, record, {
            message: `the id \`${task.id}\` was given in line ${first} already`,
            hint: 'Give every task an id of its own.',
          }),
          code: 'duplicate_id',
        });
        continue;
      }
      if (named) lines.set(task.id, record.line);
      if (only?.has(task.id) === false) continue;
      open--;
      yield { task, line: record.line };
    }
  } catch (thrown) {
    if (!(thrown instanceof NotUtf8)) throw thrown;
    report(notUtf8Problem(path, thrown));
  }
}

export function recordProblem(
  file: string,
  at: { line: number; column: number },
  what: { message: string; hint: string },
): Problem {
  return {
    file,
    line: at.line,
    column: at.column,
    endLine: at.line,
    endColumn: at.column + 1,
    severity: 'error',
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
      { message: 'this is not UTF-8 text', hint: 'Save the file with the encoding UTF-8.' },
    ),
    code: 'syntax',
  };
}

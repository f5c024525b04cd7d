/** The dataset of a batch: its mapping, its first records, its attachments. */
import { isJsonObject } from '../../common/json.ts';
import { COLUMNS, type Columns, columnsOf } from '../dataset/columns.ts';
import {
  type DatasetFormat,
  type DatasetItem,
  type DatasetSpec,
  formatOf,
  rawRecords,
  readTasks,
} from '../dataset/dataset.ts';
import type { RawRecord } from '../dataset/record.ts';
import { NotUtf8 } from '../dataset/text.ts';
import { basename } from '../paths.ts';
import { DATASET_FORMATS, type DatasetSection } from '../schema/batchFile.ts';
import type { ParsedFile } from '../source/parse.ts';
import type { Fix, Problem } from '../source/problem.ts';
import { closest } from '../source/suggest.ts';
import type { Reading } from './reading.ts';

/** So many records decide which columns there are, so many tasks which fields prompts may name. */
const HEAD = 20;
/** After so many problems a dataset is broken as a whole. */
const MAX_PROBLEMS = 50;
/** So many columns are offered in place of one that is not there. */
const MAX_COLUMNS = 6;
const MAX_IDS_TO_SUGGEST = 10_000;

export interface DatasetLook {
  readonly spec: DatasetSpec;
  /** The first tasks. */
  readonly head: readonly DatasetItem[];
  /** Tasks looked at, and whether those were all that will be run. */
  readonly tasks: number;
  readonly whole: boolean;
  /** Whether any of them has an expected answer; attachments. */
  readonly answers: boolean;
  readonly attachments: boolean;
}

export interface DatasetOptions {
  readonly limit?: number;
  /** Only these tasks, wherever they stand; the file's own `limit` and `offset` then count for nothing. */
  readonly tasks?: readonly string[];
  /** Most records looked at; the others are checked while they are sent. */
  readonly records: number;
}

export async function readDataset(
  reading: Reading,
  parsed: ParsedFile,
  section: DatasetSection,
  options: DatasetOptions,
): Promise<DatasetLook | undefined> {
  const path = await reading.locate(parsed, ['dataset', 'file'], section.file);
  if (path === undefined) return undefined;
  const format = section.format ?? formatOf(path);
  if (format === undefined) {
    reading.tell(parsed, ['dataset', 'file'], {
      code: 'value',
      message: `the name ${basename(path)} does not tell the format`,
      hint: 'Add `format: jsonl` (or csv, json, gaia) to `dataset`.',
      fixes: DATASET_FORMATS.map((value) => ({ do: 'insert', path: ['dataset'], key: 'format', value })),
    });
    return undefined;
  }
  try {
    const columns = columnsOf(section);
    const head = await firstRecords(reading, path, format);
    if (!mappingFits(reading, parsed, columns, head, path)) return undefined;
    const { tasks } = options;
    const limit = options.limit ?? (tasks === undefined ? section.limit : undefined);
    const spec: DatasetSpec = {
      path,
      format,
      columns,
      offset: tasks === undefined ? section.offset : 0,
      ...(limit === undefined ? {} : { limit }),
      ...(tasks === undefined ? {} : { only: new Set(tasks) }),
    };
    return { spec, ...(await look(reading, parsed, spec, options.records)) };
  } catch (thrown) {
    reading.unreadable(path, thrown, { parsed, at: ['dataset', 'file'] });
    return undefined;
  }
}

async function firstRecords(reading: Reading, path: string, format: DatasetFormat): Promise<RawRecord[]> {
  const head: RawRecord[] = [];
  try {
    for await (const record of rawRecords(reading.files, path, format)) {
      head.push(record);
      if (head.length === HEAD) break;
    }
  } catch (thrown) {
    if (!(thrown instanceof NotUtf8)) throw thrown; // told when the tasks are read
  }
  return head;
}

/** Whether the columns the batch file counts on exist; told once, there. */
function mappingFits(
  reading: Reading,
  parsed: ParsedFile,
  columns: Columns,
  head: readonly RawRecord[],
  path: string,
): boolean {
  const there = new Set<string>();
  for (const record of head) {
    if (!('value' in record) || !isJsonObject(record.value)) continue;
    for (const name of Object.keys(record.value)) there.add(name);
  }
  if (there.size === 0) return true; // what is wrong is told record by record
  const missing = COLUMNS.filter(
    (key) => (key === 'question' || columns.told.has(key)) && !there.has(columns.names[key]),
  );
  const gaia = there.has('Question') && there.has('task_id') && !columns.told.has('question');
  for (const key of missing) {
    const name = columns.names[key];
    const near = closest(name, there);
    const hint = gaia
      ? 'This looks like GAIA: add `format: gaia`.'
      : near !== undefined
        ? `Did you mean \`${key}: ${near}\`?`
        : `Say which column it is, for example \`${key}: ${[...there][0] ?? ''}\`; there are ${[...there].join(', ')}.`;
    const names = near === undefined ? [...there].slice(0, MAX_COLUMNS) : [near];
    const fixes: Fix[] = gaia
      ? [{ do: 'insert', path: ['dataset'], key: 'format', value: 'gaia' }]
      : names.map((column) =>
          columns.told.has(key)
            ? { do: 'replace', text: column }
            : { do: 'insert', path: ['dataset'], key, value: column },
        );
    reading.tell(parsed, ['dataset', columns.told.has(key) ? key : 'file'], {
      code: 'value',
      message: `${basename(path)} has no column \`${name}\``,
      hint,
      fixes,
    });
  }
  return missing.length === 0;
}

/** Ends the look before the end of the file. */
class Enough extends Error {}

async function look(
  reading: Reading,
  parsed: ParsedFile,
  spec: DatasetSpec,
  most: number,
): Promise<Omit<DatasetLook, 'spec'>> {
  const { only, ...everything } = spec;
  const missing = new Set(only);
  const ids: string[] = [];
  const head: DatasetItem[] = [];
  const found = { head, tasks: 0, whole: true, answers: false, attachments: false };
  let problems = 0;
  let read = 0;
  const full = (): boolean => only === undefined && read >= most;
  const report = (problem: Problem): void => {
    if (full()) throw new Enough();
    reading.problems.push(problem);
    if (++problems < MAX_PROBLEMS) return;
    reading.problems.push({
      ...problem,
      code: 'dataset',
      message: `there are ${MAX_PROBLEMS} problems up to here; the rest was not looked at`,
      hint: 'Correct these first.',
    });
    throw new Enough();
  };
  try {
    for await (const { task, line } of readTasks(reading.files, everything, report)) {
      if (full()) throw new Enough();
      read++;
      if (ids.length < MAX_IDS_TO_SUGGEST) ids.push(task.id);
      if (only !== undefined && !missing.delete(task.id)) continue;
      found.tasks++;
      if (head.length < HEAD) head.push({ task, line });
      found.answers ||= task.answer !== undefined;
      for (const file of task.files ?? []) {
        found.attachments = true;
        const stat = await reading.files.stat(file.path);
        if (stat?.kind === 'file') continue;
        report({
          file: spec.path,
          line,
          column: 1,
          endLine: line,
          endColumn: 2,
          severity: 'error',
          code: 'file',
          message: `task \`${task.id}\`: there is no file ${file.path}`,
          hint: 'Paths of attachments are relative to the dataset.',
        });
      }
      if (only !== undefined && missing.size === 0) break;
    }
  } catch (thrown) {
    if (!(thrown instanceof Enough)) throw thrown;
    return { ...found, whole: false };
  }
  for (const id of missing) {
    const near = closest(id, ids);
    reading.tell(parsed, ['dataset', 'file'], {
      code: 'value',
      message: `${basename(spec.path)} has no task \`${id}\``,
      hint: near === undefined ? `Its first tasks are ${ids.slice(0, 5).join(', ')}.` : `Did you mean \`${near}\`?`,
    });
  }
  if (read === 0 && problems === 0) {
    reading.tell(parsed, ['dataset', 'file'], {
      code: 'value',
      message: `${basename(spec.path)} gives no task${spec.offset > 0 ? ` behind the first ${spec.offset}` : ''}`,
      hint: spec.offset > 0 ? 'Lower `offset`.' : 'Put a record into it.',
    });
  }
  return found;
}

/** Checks the dataset of a batch: its columns, its first records, its attachments. */
import { isJsonObject } from '../../common/json.ts';
import { COLUMNS, type Columns, columnsOf } from '../dataset/columns.ts';
import {
  type DatasetFormat,
  type DatasetItem,
  type DatasetSpec,
  formatOf,
  rawRecords,
  readTasks,
  recordProblem,
} from '../dataset/dataset.ts';
import type { RawRecord } from '../dataset/record.ts';
import { NotUtf8 } from '../dataset/text.ts';
import { basename } from '../paths.ts';
import { DATASET_FORMATS, type DatasetSection, WORLD_DATASETS } from '../schema/batchFile.ts';
import type { ParsedFile } from '../source/parse.ts';
import type { Fix, Problem } from '../source/problem.ts';
import { closest } from '../source/suggest.ts';
import type { Reading } from './reading.ts';
import { checkScenario, type Scenarios, scenarioName } from './scenarios.ts';

/** How many records determine the columns, and how many tasks determine the fields that prompts may use. */
const HEAD = 20;
/** Stops the check after this many problems. */
const MAX_PROBLEMS = 50;
/** How many columns are suggested in place of a missing one. */
const MAX_COLUMNS = 6;
const MAX_IDS_TO_SUGGEST = 10_000;
/** Formats whose datasets may be folders. */
const FOLDERS: ReadonlySet<DatasetFormat> = new Set([...WORLD_DATASETS, 'agentworldbench']);
/** How many records that are left out are shown. */
const MAX_LEFT_OUT = 20;

export interface DatasetLook {
  readonly spec: DatasetSpec;
  /** The first tasks. */
  readonly head: readonly DatasetItem[];
  /** Number of tasks checked, and whether these are all tasks of the batch. */
  readonly tasks: number;
  readonly whole: boolean;
  /** Whether any of them has an expected answer, or attachments or a conversation. */
  readonly answers: boolean;
  readonly attachments: boolean;
}

interface DatasetOptions {
  readonly limit?: number;
  /** Only these tasks; `limit` and `offset` of the file are then ignored. */
  readonly tasks?: readonly string[];
  /** How many records to check; the rest are checked while they are sent. */
  readonly records: number;
  /** Of the batch's world, if it has scenarios: each task must name one of them, unless the world does. */
  readonly world?: {
    readonly scenarios: Scenarios;
    readonly scenario: string | undefined;
    /** Tasks that are left out, unless `tasks` names them. */
    readonly setAside: readonly string[];
  };
}

export async function readDataset(
  reading: Reading,
  parsed: ParsedFile,
  section: DatasetSection,
  options: DatasetOptions,
): Promise<DatasetLook | undefined> {
  const kind = section.format !== undefined && FOLDERS.has(section.format) ? 'any' : 'file';
  const path = await reading.locate(parsed, ['dataset', 'file'], section.file, undefined, kind);
  if (path === undefined) return undefined;
  const format = section.format ?? formatOf(path);
  if (format === undefined) {
    reading.report(parsed, ['dataset', 'file'], {
      code: 'value',
      message: `cannot detect the format of ${basename(path)}`,
      hint: `Add \`format: jsonl\` (or ${DATASET_FORMATS.slice(1).join(', ')}) to \`dataset\`.`,
      fixes: DATASET_FORMATS.map((value) => ({ do: 'insert', path: ['dataset'], key: 'format', value })),
    });
    return undefined;
  }
  if (section.scenarios !== undefined && !WORLD_DATASETS.includes(format)) {
    reading.report(
      parsed,
      ['dataset', 'scenarios'],
      {
        code: 'conflict',
        message: `a dataset of format \`${format}\` has no \`scenarios\``,
        hint: `Remove it. It is for the formats ${WORLD_DATASETS.join(' and ')}.`,
      },
      'key',
    );
    return undefined;
  }
  try {
    const columns = columnsOf(section);
    const head = await firstRecords(reading, path, format);
    if (!mappingFits(reading, parsed, columns, head, path)) return undefined;
    const { tasks, world } = options;
    const setAside = tasks === undefined ? (world?.setAside ?? []) : [];
    const limit = options.limit ?? (tasks === undefined ? section.limit : undefined);
    const spec: DatasetSpec = {
      path,
      format,
      columns,
      offset: tasks === undefined ? section.offset : 0,
      ...(limit === undefined ? {} : { limit }),
      ...(section.scenarios === undefined ? {} : { scenarios: namesOf(section.scenarios, format) }),
      ...(tasks === undefined ? {} : { only: new Set(tasks) }),
      ...(setAside.length === 0 ? {} : { except: new Set(setAside) }),
    };
    return { spec, ...(await inspect(reading, parsed, spec, options)) };
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
    if (!(thrown instanceof NotUtf8)) throw thrown; // reported when the tasks are read
  }
  return head;
}

/** Returns whether the required columns exist; otherwise reports them once, in the batch file. */
function mappingFits(
  reading: Reading,
  parsed: ParsedFile,
  columns: Columns,
  head: readonly RawRecord[],
  path: string,
): boolean {
  const available = new Set<string>();
  for (const record of head) {
    if (!('value' in record) || !isJsonObject(record.value)) continue;
    for (const name of Object.keys(record.value)) available.add(name);
  }
  if (available.size === 0) return true; // each broken record is reported separately
  const missing = COLUMNS.filter(
    (key) => (key === 'question' || columns.explicit.has(key)) && !available.has(columns.names[key]),
  );
  const gaia = available.has('Question') && available.has('task_id') && !columns.explicit.has('question');
  for (const key of missing) {
    const name = columns.names[key];
    const near = closest(name, available);
    const hint = gaia
      ? 'This looks like GAIA: add `format: gaia`.'
      : near !== undefined
        ? `Did you mean \`${key}: ${near}\`?`
        : `For example, write \`${key}: ${[...available][0] ?? ''}\`. Available: ${[...available].join(', ')}.`;
    const names = near === undefined ? [...available].slice(0, MAX_COLUMNS) : [near];
    const fixes: Fix[] = gaia
      ? [{ do: 'insert', path: ['dataset'], key: 'format', value: 'gaia' }]
      : names.map((column) =>
          columns.explicit.has(key)
            ? { do: 'replace', text: column }
            : { do: 'insert', path: ['dataset'], key, value: column },
        );
    reading.report(parsed, ['dataset', columns.explicit.has(key) ? key : 'file'], {
      code: 'value',
      message: `${basename(path)} has no column \`${name}\``,
      hint,
      fixes,
    });
  }
  return missing.length === 0;
}

function namesOf(scenarios: readonly string[], format: DatasetFormat): ReadonlySet<string> {
  return new Set(format === 'awm' ? scenarios.map((name) => scenarioName({ format }, name)) : scenarios);
}

/** Reports a task whose scenario is unclear or does not exist. */
function checkTask(
  { task, file, line }: DatasetItem & { readonly file: string },
  { scenarios, scenario }: NonNullable<DatasetOptions['world']>,
  report: (problem: Problem) => void,
): void {
  const add = ({ message, hint }: { message: string; hint: string }): void =>
    report(recordProblem(file, { line, column: 1 }, { message, hint }));
  const own = task.world?.scenario;
  const subject = `task \`${task.id}\`: `;
  if (own === undefined) {
    if (scenario === undefined)
      add({
        message: `task \`${task.id}\` names no scenario`,
        hint: 'Add "world": { "scenario": "…" } to the task, or `scenario:` to the world file.',
      });
  } else if (scenario !== undefined && scenarioName(scenarios, own) !== scenarioName(scenarios, scenario)) {
    add({
      message: `${subject}its scenario is \`${own}\`, but the world has \`scenario: ${scenario}\``,
      hint: 'Remove `scenario` from the world file, or choose other tasks, e.g. with `dataset.scenarios`.',
    });
  } else checkScenario(scenarios, own, add, subject);
}

/** Ends the check before the end of the file. */
class StopReading extends Error {}

async function inspect(
  reading: Reading,
  parsed: ParsedFile,
  spec: DatasetSpec,
  { records: maxRecords, world }: DatasetOptions,
): Promise<Omit<DatasetLook, 'spec'>> {
  const { only, ...everything } = spec;
  const missing = new Set(only);
  const ids: string[] = [];
  const head: DatasetItem[] = [];
  const result = { head, tasks: 0, whole: true, answers: false, attachments: false };
  let problems = 0;
  let leftOut = 0;
  let read = 0;
  const full = (): boolean => only === undefined && read >= maxRecords;
  const report = (problem: Problem): void => {
    if (full()) throw new StopReading();
    if (problem.severity === 'warning') {
      if (++leftOut <= MAX_LEFT_OUT) reading.problems.push(problem);
      return;
    }
    reading.problems.push(problem);
    if (++problems < MAX_PROBLEMS) return;
    reading.problems.push({
      ...problem,
      code: 'dataset',
      message: `found ${MAX_PROBLEMS} problems; the rest of the dataset was not checked`,
      hint: 'Fix these first.',
    });
    throw new StopReading();
  };
  try {
    for await (const item of readTasks(reading.files, everything, report)) {
      const { task, line } = item;
      if (full()) throw new StopReading();
      read++;
      if (ids.length < MAX_IDS_TO_SUGGEST) ids.push(task.id);
      if (only !== undefined && !missing.delete(task.id)) continue;
      result.tasks++;
      if (head.length < HEAD) head.push(item);
      result.answers ||= task.answer !== undefined;
      result.attachments ||= task.messages !== undefined;
      if (world !== undefined) checkTask({ file: spec.path, ...item }, world, report);
      for (const file of task.files ?? []) {
        result.attachments = true;
        const stat = await reading.files.stat(file.path);
        if (stat?.kind === 'file') continue;
        report({
          file: item.file ?? spec.path,
          line,
          column: 1,
          endLine: line,
          endColumn: 2,
          severity: 'error',
          code: 'file',
          message: `task \`${task.id}\`: file ${file.path} not found`,
          hint: 'Paths of attachments are relative to the dataset.',
        });
      }
      if (only !== undefined && missing.size === 0) break;
    }
  } catch (thrown) {
    if (!(thrown instanceof StopReading)) throw thrown;
    result.whole = false;
  }
  if (leftOut > 0) reportLeftOut(reading, parsed, leftOut, read);
  if (!result.whole) return result;
  for (const id of missing) {
    const near = closest(id, ids);
    reading.report(parsed, ['dataset', 'file'], {
      code: 'value',
      message: `${basename(spec.path)} has no task \`${id}\``,
      hint: near === undefined ? `The first tasks are ${ids.slice(0, 5).join(', ')}.` : `Did you mean \`${near}\`?`,
    });
  }
  if (read === 0 && problems + leftOut === 0 && spec.except !== undefined && spec.offset === 0) {
    reading.report(parsed, ['dataset', 'file'], {
      code: 'value',
      message: `${basename(spec.path)} has no tasks that the world file does not set aside`,
      hint: 'Remove some from `set_aside` of the world file, or choose other tasks.',
    });
  } else if (read === 0 && problems + leftOut === 0) {
    reading.report(parsed, ['dataset', 'file'], {
      code: 'value',
      message: `${basename(spec.path)} has no tasks${spec.offset > 0 ? ` after the first ${spec.offset}` : ''}`,
      hint: spec.offset > 0 ? 'Decrease `offset`.' : 'Add a record to the file.',
    });
  }
  return result;
}

/** Says how many broken records are left out. */
function reportLeftOut(reading: Reading, parsed: ParsedFile, leftOut: number, read: number): void {
  const all = `${leftOut} of ${leftOut + read} rows`;
  reading.report(parsed, ['dataset', 'file'], {
    code: read === 0 ? 'dataset' : 'left_out',
    severity: read === 0 ? 'error' : 'warning',
    message: read === 0 ? `none of the ${leftOut} rows can be read` : `${all} are broken, and left out`,
    hint: leftOut > MAX_LEFT_OUT ? `The first ${MAX_LEFT_OUT} are listed.` : 'Each of them is listed.',
  });
}

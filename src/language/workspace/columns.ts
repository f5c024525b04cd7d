/** Reads the columns of datasets from their first records. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject, type JsonObject } from '../../common/json.ts';
import { type Columns, columnsOf, type FileTask, taskOf } from '../../config/dataset/columns.ts';
import { type DatasetFormat, formatOf, rawRecords } from '../../config/dataset/dataset.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import { fieldNames } from '../../config/prompt.ts';
import { batchFile, type DatasetSection } from '../../config/schema/batchFile.ts';
import type { Workspace } from '../workspace.ts';

/** Number of records to read for the columns. */
const MAX_RECORDS = 20;

export interface DatasetHead {
  readonly path: string;
  readonly format: DatasetFormat;
  /** Roles of the columns. */
  readonly mapping: Columns;
  /** Column names in order of appearance. */
  readonly columns: readonly string[];
  /** Line of the first record with each column. */
  readonly lines: ReadonlyMap<string, number>;
  readonly tasks: readonly FileTask[];
  /** Fields for `{{task.…}}`, each with an example. */
  readonly fields: readonly string[];
}

/** Reads the columns of a batch's dataset. Returns undefined if there is no readable dataset. */
export async function datasetOf(workspace: Workspace, batch: string): Promise<DatasetHead | undefined> {
  const root = (await workspace.parsed(batch))?.value;
  const section = isJsonObject(root) && isJsonObject(root['dataset']) ? root['dataset'] : undefined;
  if (typeof section?.['file'] !== 'string') return undefined;
  const path = joinPath(dirname(batch), section['file']);
  const mapping = mappingOf(section);
  const format = mapping.format ?? formatOf(path);
  if (format === undefined || (await workspace.files.stat(path))?.kind !== 'file') return undefined;
  const columns = columnsOf(mapping);
  const lines = new Map<string, number>();
  const tasks: FileTask[] = [];
  try {
    let read = 0;
    for await (const record of rawRecords(workspace.files, path, format)) {
      if ('value' in record && isJsonObject(record.value)) {
        for (const name of Object.keys(record.value)) if (!lines.has(name)) lines.set(name, record.line);
        const result = taskOf(record.value, columns, `#${record.number}`, dirname(path));
        if ('task' in result) tasks.push(result.task);
      }
      if (++read === MAX_RECORDS) break;
    }
  } catch {
    // The dataset check reports the error. Use what was read so far.
  }
  return {
    path,
    format,
    mapping: columns,
    columns: [...lines.keys()],
    lines,
    tasks,
    fields: [...new Set(tasks.flatMap(fieldNames))],
  };
}

/** Returns the valid members. */
function mappingOf(
  section: JsonObject,
): Pick<DatasetSection, 'format' | 'id' | 'question' | 'answer' | 'level' | 'files' | 'world'> {
  const { shape } = batchFile.shape.dataset;
  const validMembers = Object.entries(section).filter(
    ([key, value]) => Object.hasOwn(shape, key) && shape[key as keyof typeof shape].safeParse(value).success,
  );
  return Object.fromEntries(validMembers); // each member matches the schema of its key
}

/** Returns the batches whose tasks fill a prompt's placeholders, through its agent or its world's user. */
export async function batchesOfPrompt(workspace: Workspace, path: string): Promise<string[]> {
  const kind = fileKind(path);
  if (kind === 'batch') return [path];
  const referrers = kind === undefined ? (await workspace.mentionsOf(path)).map(({ file }) => file) : [path];
  const batches = new Set<string>(referrers.filter((file) => fileKind(file) === 'batch'));
  const files = new Set(referrers);
  for (const referrer of files) {
    for (const { file } of await workspace.mentionsOf(referrer)) {
      if (fileKind(file) === 'batch') batches.add(file);
      else if (fileKind(file) === 'world') files.add(file); // a world that contains this one
    }
  }
  return [...batches];
}

/** The columns of datasets, by their first records. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject, type JsonObject } from '../../common/json.ts';
import { type Columns, columnsOf, type FileTask, taskOf } from '../../config/dataset/columns.ts';
import { type DatasetFormat, formatOf, rawRecords } from '../../config/dataset/dataset.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import { fieldNames } from '../../config/prompt.ts';
import { batchFile, type DatasetSection } from '../../config/schema/batchFile.ts';
import type { Workspace } from '../workspace.ts';

/** So many records decide which columns there are. */
const HEAD = 20;

export interface DatasetHead {
  readonly path: string;
  readonly format: DatasetFormat;
  /** Which columns mean what. */
  readonly mapping: Columns;
  /** Names of columns in the order they come. */
  readonly columns: readonly string[];
  /** Where a column is first found: the line of the record. */
  readonly lines: ReadonlyMap<string, number>;
  readonly tasks: readonly FileTask[];
  /** Names that `{{task.…}}` may give, with an example of each. */
  readonly fields: readonly string[];
}

/** Of a batch file; undefined when it names no dataset that can be read. */
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
      if (++read === HEAD) break;
    }
  } catch {
    // Told where the dataset is checked; what was read until there counts.
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

/** As far as it is right. */
function mappingOf(
  section: JsonObject,
): Pick<DatasetSection, 'format' | 'id' | 'question' | 'answer' | 'level' | 'files' | 'world'> {
  const { shape } = batchFile.shape.dataset;
  const right = Object.entries(section).filter(
    ([key, value]) => Object.hasOwn(shape, key) && shape[key as keyof typeof shape].safeParse(value).success,
  );
  return Object.fromEntries(right); // each member passed the schema of its key
}

/** The batch files whose tasks fill in the placeholders of a prompt: those that name its agent, or its world's user. */
export async function batchesOfPrompt(workspace: Workspace, path: string): Promise<string[]> {
  const kind = fileKind(path);
  if (kind === 'batch') return [path];
  const holders = kind === undefined ? (await workspace.mentionsOf(path)).map(({ file }) => file) : [path];
  const batches = new Set<string>(holders.filter((file) => fileKind(file) === 'batch'));
  for (const holder of new Set(holders)) {
    for (const { file } of await workspace.mentionsOf(holder)) if (fileKind(file) === 'batch') batches.add(file);
  }
  return [...batches];
}

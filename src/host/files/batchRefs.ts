/** Reads the references in the text of a batch file, even if it is incomplete. */
import { isJsonObject } from '../../common/json.ts';
import { columnsOf } from '../../config/dataset/columns.ts';
import { type DatasetItem, type DatasetSpec, formatOf, readTasks } from '../../config/dataset/dataset.ts';
import type { Files } from '../../config/files.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import { batchFile } from '../../config/schema/batchFile.ts';
import { parseFile } from '../../config/source/parse.ts';

export interface BatchRefs {
  /** Path of the agent file. */
  readonly agent: string | undefined;
  /** Path of the world file. */
  readonly world: string | undefined;
  readonly dataset: DatasetSpec | undefined;
}

export function batchRefs(path: string, text: string): BatchRefs {
  const { value } = parseFile(path, text);
  const file = isJsonObject(value) ? value : {};
  const at = (reference: unknown): string | undefined =>
    typeof reference === 'string' ? joinPath(dirname(path), reference) : undefined;
  return { agent: at(file['agent']), world: at(file['world']), dataset: datasetSpec(path, file['dataset']) };
}

function datasetSpec(path: string, value: unknown): DatasetSpec | undefined {
  const section = batchFile.shape.dataset.safeParse(value);
  if (!section.success) return undefined;
  const dataset = joinPath(dirname(path), section.data.file);
  const format = section.data.format ?? formatOf(dataset);
  return format === undefined ? undefined : { path: dataset, format, columns: columnsOf(section.data), offset: 0 };
}

/** Reads the first tasks of a dataset. Skips unreadable records. */
export async function firstTasks(files: Files, spec: DatasetSpec, max: number): Promise<DatasetItem[]> {
  const items: DatasetItem[] = [];
  for await (const item of readTasks(files, { ...spec, limit: max }, () => undefined)) items.push(item);
  return items;
}

/** Finds the uses of a dataset column: in records, batches, prompts, and code that reads tasks. */
import { COLUMNS } from '../../config/dataset/columns.ts';
import { type DatasetHead, datasetOf } from '../workspace/columns.ts';
import type { Reference } from '../workspace/references.ts';
import { referencedFiles, referencingFiles, worldsUnder } from '../workspace/relations.ts';
import type { Lines } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';
import { escapePattern, type Span } from './codeNames.ts';
import { columnPlaces } from './columnPlaces.ts';
import { codeFiles } from './exportPlaces.ts';
import type { Place } from './place.ts';
import { columnOfPlaceholder, type StudioSymbol } from './symbol.ts';
import { nameRange } from './words.ts';

type Column = Extract<StudioSymbol, { kind: 'column' }>;

/** Larger datasets are not searched. */
export const MAX_DATASET_BYTES = 4 * 1024 * 1024;

export async function columnUses(workspace: Workspace, { dataset, column }: Column): Promise<Place[]> {
  const heads = await headsOf(workspace, dataset);
  const [head] = heads;
  if (head === undefined) return [];
  const found = await placesInRecords(workspace, head, column);
  const texts = new Set<string>();
  for (const { batch } of heads) {
    for (const file of [
      batch,
      ...(await referencedFiles(workspace, batch, 'agent')),
      ...(await worldsUnder(workspace, batch)),
    ]) {
      texts.add(file);
      for (const prompt of await referencedFiles(workspace, file, 'prompt')) texts.add(prompt);
    }
  }
  for (const file of texts) {
    const lines = await workspace.lines(file);
    if (lines === undefined) continue;
    for (const reference of await workspace.references(file)) {
      const place = placeInReference(file, lines, reference, head, column);
      if (place !== undefined) found.push(place);
    }
  }
  if (roleOf(head, column) !== undefined) return found;
  for (const file of await codeFiles(workspace, dataset)) {
    const lines = await workspace.lines(file);
    if (lines?.text.includes('task') === true)
      for (const span of columnReads(lines.text, column)) found.push(placeOf(file, lines, span));
  }
  return found;
}

/** Returns the batches that use a dataset, and their column mappings. */
export async function headsOf(
  workspace: Workspace,
  dataset: string,
): Promise<(DatasetHead & { readonly batch: string })[]> {
  const found = (await referencingFiles(workspace, dataset, 'batch')).map(async (batch) => {
    const head = await datasetOf(workspace, batch);
    return head === undefined ? undefined : { ...head, batch };
  });
  return (await Promise.all(found)).filter((head) => head !== undefined);
}

/** Returns the role of a column, e.g. the question, or undefined for `meta` columns. */
export function roleOf({ mapping }: DatasetHead, column: string): (typeof COLUMNS)[number] | undefined {
  return COLUMNS.find((key) => mapping.names[key] === column);
}

async function placesInRecords(workspace: Workspace, { path, format }: DatasetHead, column: string): Promise<Place[]> {
  const stat = await workspace.files.stat(path);
  const lines = stat === undefined || stat.bytes > MAX_DATASET_BYTES ? undefined : await workspace.lines(path);
  if (lines === undefined) return [];
  return columnPlaces(lines.text, format, column).map((span, index) => ({
    ...placeOf(path, lines, span),
    role: index === 0 ? 'definition' : 'use',
  }));
}

function placeInReference(
  file: string,
  lines: Lines,
  { kind, text, range }: Reference,
  head: DatasetHead,
  column: string,
): Place | undefined {
  if (kind === 'column' && text === column) {
    const name = nameRange(lines, range, column);
    return name === undefined ? undefined : { file, range: name, role: 'use' };
  }
  if (kind !== 'placeholder' || columnOfPlaceholder(head, text) !== column) return undefined;
  const start = lines.offsetAt({ line: range.line - 1, character: range.column - 1 });
  const inside = start + lines.slice(range).indexOf(text);
  if (text.startsWith('meta.'))
    return placeOf(file, lines, { start: inside + 'meta.'.length, end: inside + 'meta.'.length + column.length });
  const [field = ''] = text.split('.');
  return { ...placeOf(file, lines, { start: inside, end: inside + field.length }), fixed: true };
}

/** Finds `task.meta.COLUMN` in code. */
function columnReads(source: string, column: string): Span[] {
  const name = escapePattern(column);
  const pattern = new RegExp(
    `\\btask\\??\\.meta(?:\\??\\.(?<plain>${name})(?![\\w$])|(?:\\?\\.)?\\[(['"])(?<quoted>${name})\\2\\])`,
    'dg',
  );
  return [...source.matchAll(pattern)].flatMap(({ indices }) => {
    const at = indices?.groups?.['plain'] ?? indices?.groups?.['quoted'];
    return at === undefined ? [] : [{ start: at[0], end: at[1] }];
  });
}

function placeOf(file: string, lines: Lines, { start, end }: Span): Place {
  return { file, range: lines.range(start, end - start), role: 'use' };
}

/** Maps columns of dataset records to the fields of a task. */
import { z } from 'zod';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import type { ConversationMessage, TaskRecord } from '../../trace/task.ts';
import { basename, isAbsolute, joinPath, normalizePath } from '../paths.ts';
import type { DatasetSection } from '../schema/batchFile.ts';
import { conversationOf } from './conversation.ts';

export const COLUMNS = ['id', 'question', 'answer', 'level', 'files', 'messages', 'world'] as const;
type ColumnKey = (typeof COLUMNS)[number];

export interface Columns {
  readonly names: Readonly<Record<ColumnKey, string>>;
  /** Columns named in the batch file; these must exist. */
  readonly explicit: ReadonlySet<ColumnKey>;
  /** A placeholder for unpublished answers, e.g. in GAIA's test split. */
  readonly hiddenAnswer?: string;
}

const DEFAULT_NAMES: Columns['names'] = {
  id: 'id',
  question: 'question',
  answer: 'answer',
  level: 'level',
  files: 'files',
  messages: 'messages',
  world: 'world',
};

/** Columns of GAIA's `metadata.jsonl`; attachments are in the same folder. */
const GAIA: Columns['names'] = {
  id: 'task_id',
  question: 'Question',
  answer: 'Final answer',
  level: 'Level',
  files: 'file_name',
  messages: 'messages',
  world: 'world',
};

/** ID of GAIA's example record, which is not a task. */
export const GAIA_EXAMPLE = '0-0-0-0-0';

export function columnsOf(section: Pick<DatasetSection, ColumnKey | 'format'>): Columns {
  const names = { ...(section.format === 'gaia' ? GAIA : DEFAULT_NAMES) };
  const explicit = new Set<ColumnKey>();
  for (const key of COLUMNS) {
    const name = section[key];
    if (name === undefined) continue;
    names[key] = name;
    explicit.add(key);
  }
  return section.format === 'gaia' ? { names, explicit, hiddenAnswer: '?' } : { names, explicit };
}

/** A task whose attachments are local files, with its conversation. */
export type FileTask = Omit<TaskRecord, 'files' | 'messages'> & {
  readonly messages?: readonly ConversationMessage[];
  readonly files?: readonly { readonly name: string; readonly path: string }[];
};

/** `named`: the ID comes from the record. */
type ColumnResult =
  | { readonly task: FileTask; readonly hasId: boolean }
  | { readonly message: string; readonly hint: string };

const worldStart = z.strictObject({
  scenario: z.string().min(1).optional(),
  seed: z.int().optional(),
  state: z.unknown().optional(),
});

/** Returns the task of a record. `id` is used if no column has one; attachments are relative to `folder`. */
export function taskOf(value: unknown, columns: Columns, id: string, folder: string): ColumnResult {
  if (!isJsonObject(value))
    return { message: 'a record must be an object of columns', hint: 'Write { "question": "…", "answer": "…" }.' };
  const { names } = columns;
  const cell = (key: ColumnKey): Json | undefined => {
    const found = Object.hasOwn(value, names[key]) ? value[names[key]] : undefined;
    return found === null || found === '' ? undefined : found;
  };
  const wrong = (key: ColumnKey, message: string, hint: string): ColumnResult => ({
    message: `column \`${names[key]}\` ${message}`,
    hint,
  });

  const question = cell('question');
  if (question === undefined)
    return wrong('question', 'is missing or empty', 'Every record needs a question for the agent.');
  if (typeof question !== 'string') return wrong('question', 'must be text', 'Write the question as a string.');
  const hasId = cell('id');
  if (hasId === undefined && columns.explicit.has('id'))
    return wrong(
      'id',
      'is missing or empty',
      'Add an id to the record, or remove `dataset.id` to name tasks by line number.',
    );
  if (hasId !== undefined && typeof hasId !== 'string' && typeof hasId !== 'number')
    return wrong('id', 'must be text or a number', 'Use a string or a number as the id.');
  const level = cell('level');
  if (level !== undefined && typeof level !== 'string' && typeof level !== 'number')
    return wrong('level', 'must be text or a number', 'For example, write 1 or "easy".');
  const files = attachments(cell('files'), folder);
  if (typeof files === 'string')
    return wrong('files', files, 'Write a path relative to the dataset, or a list of them.');
  const messages = conversationOf(fromCell(cell('messages')) ?? []);
  if (typeof messages === 'string')
    return wrong(
      'messages',
      messages,
      'Write [{ "role": "user", "content": "…" }, { "role": "assistant", "content": "…" }].',
    );
  const world = start(cell('world'));
  if (world === null)
    return wrong(
      'world',
      'must be an object with `scenario` (text), `seed` (a whole number), and `state`',
      'Write { "scenario": "…", "seed": 7, "state": … }. All keys are optional.',
    );
  const answer = cell('answer');

  const meta: JsonObject = {};
  const used = new Set<string>(Object.values(names));
  for (const [key, member] of Object.entries(value)) {
    if (used.has(key)) continue;
    if (key === 'meta' && isJsonObject(member)) Object.assign(meta, member);
    else meta[key] = member;
  }
  return {
    hasId: hasId !== undefined,
    task: {
      id: hasId === undefined ? id : String(hasId),
      question,
      ...(answer === undefined || answer === columns.hiddenAnswer ? {} : { answer }),
      ...(files.length === 0 ? {} : { files }),
      ...(level === undefined ? {} : { level }),
      ...(messages.length === 0 ? {} : { messages }),
      ...(world === undefined ? {} : { world }),
      meta,
    },
  };
}

/** Parses JSON in a cell: cells of a CSV file are always strings. */
function fromCell(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as Json;
  } catch {
    return value; // a string that only looks like JSON
  }
}

function attachments(cell: Json | undefined, folder: string): { name: string; path: string }[] | string {
  const value = fromCell(cell);
  if (value === undefined) return [];
  const paths: Json[] = Array.isArray(value) ? value : [value];
  const files: { name: string; path: string }[] = [];
  for (const path of paths) {
    if (typeof path !== 'string' || path === '') return 'must be a path or a list of paths';
    const normal = normalizePath(path);
    // A relative name outside the dataset's folder would leave the working directory: keep only the base name.
    const name = isAbsolute(normal) || normal.startsWith('../') ? basename(normal) : normal;
    if (files.some((file) => file.name === name)) return `contains two files named \`${name}\``;
    files.push({ name, path: joinPath(folder, path) });
  }
  return files;
}

/** Returns null if the cell is invalid. */
function start(cell: Json | undefined): FileTask['world'] | null {
  const value = fromCell(cell);
  if (value === undefined) return undefined;
  const parsed = worldStart.safeParse(value);
  if (!parsed.success) return null;
  const { scenario, seed, state } = parsed.data;
  return {
    ...(scenario === undefined ? {} : { scenario }),
    ...(seed === undefined ? {} : { seed }),
    ...(state === undefined ? {} : { state: state as Json }), // from JSON.parse
  };
}

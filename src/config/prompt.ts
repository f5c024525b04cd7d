/** `{{task.PATH}}` placeholders in prompts: finds, checks, and fills them. */
import type { Json, JsonObject } from '../common/json.ts';
import type { TaskRecord } from '../trace/task.ts';

interface Placeholder {
  /** The part after `task.` as written, e.g. `question` or `meta.city`. */
  readonly path: string;
  /** Offset and length of the whole `{{…}}`. */
  readonly offset: number;
  readonly length: number;
}

const PLACEHOLDER = /\{\{\s*task\.([^{}]*?)\s*\}\}/g;

export function placeholdersOf(prompt: string): Placeholder[] {
  return [...prompt.matchAll(PLACEHOLDER)].map((match) => ({
    path: match[1] ?? '',
    offset: match.index,
    length: match[0].length,
  }));
}

/** The part of a task that prompts can use; attachments by name. */
type PromptTask = Omit<TaskRecord, 'files' | 'messages'> & { readonly files?: readonly { readonly name: string }[] };

/**
 * Returns the value at a path: `id`, `question`, `answer`, `level`, `files` (their names), `world.state…`, or `meta…`,
 * which holds all other columns. Returns undefined if the task has no such field.
 */
export function taskField(task: PromptTask, path: string): Json | undefined {
  const [first = '', ...rest] = path.split('.');
  if (first === 'files') return rest.length === 0 ? (task.files ?? []).map((file) => file.name).join(', ') : undefined;
  let value: Json | undefined = fields(task);
  for (const key of [first, ...rest]) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key]; // also works for list positions
  }
  return value;
}

/** Fills a prompt for a task; returns undefined if the task lacks a field. */
export function fillPrompt(prompt: string, task: PromptTask): string | undefined {
  const values = placeholdersOf(prompt).map(({ path }) => taskField(task, path));
  if (values.includes(undefined)) return undefined;
  return prompt.replaceAll(PLACEHOLDER, () => {
    const value = values.shift();
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

/** Returns the paths of a task to suggest. */
export function fieldNames(task: PromptTask): string[] {
  const own = Object.keys(fields(task))
    .filter((name) => name !== 'meta')
    .map((name) => (name === 'world' ? 'world.state' : name));
  return [...own, 'files', ...Object.keys(task.meta).map((name) => `meta.${name}`)];
}

function fields(task: PromptTask): JsonObject {
  return {
    id: task.id,
    question: task.question,
    meta: task.meta,
    ...(task.answer === undefined ? {} : { answer: task.answer }),
    ...(task.level === undefined ? {} : { level: task.level }),
    ...(task.world?.state === undefined ? {} : { world: { state: task.world.state } }),
  };
}

/** Returns whether a text in a config file is the path of a file with the text. */
export function isPromptPath(written: string): boolean {
  return !written.includes('\n') && /\.(md|txt)\s*$/i.test(written);
}

/** `{{task.PATH}}` in prompts: what it may name, for those who check it and those who fill it in. */
import type { Json, JsonObject } from '../common/json.ts';
import type { TaskRecord } from '../trace/task.ts';

export interface Placeholder {
  /** What stands behind `task.`, e.g. `question` or `meta.city`; as written. */
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

/** A task as far as prompts see it; attachments by name. */
export type PromptTask = Omit<TaskRecord, 'files'> & { readonly files?: readonly { readonly name: string }[] };

/**
 * What a path names: `id`, `question`, `answer`, `level`, `files` (the names), `world.state…` and `meta…`, where all
 * other columns are. undefined when the task has no such thing.
 */
export function taskField(task: PromptTask, path: string): Json | undefined {
  const [first = '', ...rest] = path.split('.');
  if (first === 'files') return rest.length === 0 ? (task.files ?? []).map((file) => file.name).join(', ') : undefined;
  let value: Json | undefined = fields(task);
  for (const key of [first, ...rest]) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key]; // a list answers to its positions in the same way
  }
  return value;
}

/** The prompt as the task makes it; undefined when the task lacks something that it names. */
export function fillPrompt(prompt: string, task: PromptTask): string | undefined {
  const values = placeholdersOf(prompt).map(({ path }) => taskField(task, path));
  if (values.includes(undefined)) return undefined;
  return prompt.replaceAll(PLACEHOLDER, () => {
    const value = values.shift();
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

/** The paths of a task that one would suggest. */
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

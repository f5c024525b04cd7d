import { z } from 'zod';
import type { Json, JsonObject } from '../../common/json.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Part } from '../../trace/schema.ts';
import { type ConversationMessage, datasetId, type TaskRecord } from '../../trace/task.ts';
import { toBase64 } from './base64.ts';

const PLACEHOLDER = /\{\{\s*task\.([^{}\s]+)\s*\}\}/g;

/**
 * Replaces each `{{task.<path>}}` in a text by the value in the task: a string as it is, anything else as JSON,
 * `task.files` as the list of names. Throws ClassedError `invalid_arguments` if the task has no such value.
 */
export function renderPrompt(text: string, task: TaskRecord): string {
  return text.replaceAll(PLACEHOLDER, (whole, path: string) => {
    const value = lookUp(task, path.split('.'));
    if (value === undefined) {
      throw new ClassedError('invalid_arguments', `The prompt uses ${whole}, which task "${task.id}" does not have.`);
    }
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

function lookUp(task: TaskRecord, path: readonly string[]): Json | undefined {
  const [first, ...rest] = path;
  if (first === 'files') return rest.length === 0 ? (task.files ?? []).map((file) => file.name).join(', ') : undefined;
  const root: JsonObject = {
    id: datasetId(task),
    question: task.question,
    meta: task.meta,
    ...(task.answer === undefined ? {} : { answer: task.answer }),
    ...(task.level === undefined ? {} : { level: task.level }),
    ...(task.world?.state === undefined ? {} : { world: { state: task.world.state } }),
  };
  let value: Json | undefined = root;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key]; // works for arrays, too: their indices are keys
  }
  return value;
}

/** Image types that model servers accept. */
const IMAGES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** Returns the task as parts of a message: the question, its attachments by name, and images as images. */
export async function questionParts(task: TaskRecord, readFile: (sha: string) => Promise<Uint8Array>): Promise<Part[]> {
  const files = task.files ?? [];
  const names =
    files.length === 0
      ? ''
      : `\n\nAttached files, in the working directory: ${files.map((file) => file.name).join(', ')}`;
  const images = files.flatMap((file) => {
    const mime = IMAGES[file.name.slice(file.name.lastIndexOf('.') + 1).toLowerCase()];
    return mime === undefined ? [] : [{ sha: file.sha, mime }];
  });
  const parts = images.map(
    async ({ sha, mime }): Promise<Part> => ({
      type: 'blob',
      mime_type: mime,
      modality: 'image',
      content: toBase64(await readFile(sha)),
    }),
  );
  return [{ type: 'text', content: task.question + names }, ...(await Promise.all(parts))];
}

const conversation = z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), text: z.string() }));

/** Returns the conversation that a task continues; empty without one. Throws ClassedError `infrastructure`. */
export async function conversationOf(
  { messages }: TaskRecord,
  readFile: (sha: string) => Promise<Uint8Array>,
): Promise<readonly ConversationMessage[]> {
  if (messages === undefined) return [];
  const read = conversation.safeParse(JSON.parse(new TextDecoder().decode(await readFile(messages.sha))));
  if (read.success) return read.data;
  throw new ClassedError('infrastructure', `The stored conversation of the task is invalid: ${read.error.message}`);
}

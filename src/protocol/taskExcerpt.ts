/**
 * Tasks as lists show them: the beginning of their texts. A question may be as long as a book, and a batch has
 * thousands of them.
 */
import type { Json, JsonObject } from '../common/json.ts';
import type { TaskRecord } from '../trace/task.ts';

/** Characters of each text that pages request. */
export const EXCERPT = 1_000;

/** Returns the task without the state of its world, and with texts of at most `length` characters. */
export function taskExcerpt({ world, ...task }: TaskRecord, length: number): TaskRecord {
  const { scenario, seed } = world ?? {};
  const shortWorld = { ...(scenario === undefined ? {} : { scenario }), ...(seed === undefined ? {} : { seed }) };
  return {
    ...task,
    question: shortened(task.question, length),
    ...(task.answer === undefined ? {} : { answer: valueExcerpt(task.answer, length) }),
    ...(Object.keys(shortWorld).length === 0 ? {} : { world: shortWorld }),
    meta: metaExcerpt(task.meta, length),
  };
}

/** Returns a short value as it is, a long text shortened, and any other long value as shortened JSON. */
function valueExcerpt(value: Json, length: number): Json {
  if (typeof value === 'string') return shortened(value, length);
  const text = JSON.stringify(value);
  return text.length <= length ? value : shortened(text, length);
}

function metaExcerpt(meta: JsonObject, length: number): JsonObject {
  return Object.fromEntries(Object.entries(meta).map(([key, value]) => [key, valueExcerpt(value, length)]));
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

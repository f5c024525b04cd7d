/** What `rollout tool` tells of tools and of calls of them, and how it is shown. Knows nothing of VS Code. */
import { z } from 'zod';
import { plural, durationText } from '../../../trace/text/units.ts';
import type { Json, JsonObject } from '../../../common/json.ts';
import { isJsonObject } from '../../../common/json.ts';
import { effect, traceError } from '../../../trace/schema.ts';
import { outcomeText } from '../../toolCalls/rerun/described.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // it came out of JSON.parse
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

const listedTool = z.object({
  name: z.string(), description: z.string(), effect, parameters: jsonObject, output: jsonObject.optional(),
  from: z.object({ kind: z.string(), name: z.string() }),
});
export type ListedTool = z.infer<typeof listedTool>;
export const listedTools = z.object({ tools: z.array(listedTool), problems: z.array(z.string()) });

export const triedCall = z.object({
  status: z.enum(['ok', 'error']), result: json.optional(), error: traceError.optional(), ms: z.number(), log: z.string(),
  retries: z.array(z.object({ class: z.string() })).optional(),
  files: z.array(z.object({ mime_type: z.string(), content: z.string() })).optional(),
});
export type TriedCall = z.infer<typeof triedCall>;

/** How a call went, in one line. */
export function triedTitle({ error, ms, retries = [] }: TriedCall): string {
  return `${error === undefined ? 'ok' : error.class} · ${durationText(ms)}${retries.length === 0 ? '' : ` · made again ${retries.length}×`}`;
}

/** The result as a document, with what was printed behind it. */
export function triedText(made: TriedCall): string {
  const files = (made.files ?? []).map(({ mime_type: media, content }) => `${media}, ${plural(Math.floor((content.length * 3) / 4), 'byte')}`);
  const sections = [outcomeText(made), ...(files.length === 0 ? [] : [`with it came:\n${files.join('\n')}\n`]), ...(made.log === '' ? [] : [`printed:\n${made.log.trimEnd()}\n`])];
  return sections.join('\n');
}

/** Arguments to begin with: what a schema requires, with its defaults, else as empty as its types allow. */
export function firstArguments(parameters: JsonObject): JsonObject {
  const properties = isJsonObject(parameters['properties']) ? parameters['properties'] : {};
  const required = Array.isArray(parameters['required']) ? parameters['required'] : [];
  return Object.fromEntries(required.flatMap((name): [string, Json][] => (typeof name === 'string' ? [[name, firstValue(properties[name])]] : [])));
}

function firstValue(schema: Json | undefined): Json {
  if (!isJsonObject(schema)) return null;
  if (schema['default'] !== undefined) return schema['default'];
  if (schema['const'] !== undefined) return schema['const'];
  const [example] = Array.isArray(schema['examples']) ? schema['examples'] : [];
  if (example !== undefined) return example;
  const [choice] = Array.isArray(schema['enum']) ? schema['enum'] : [];
  if (choice !== undefined) return choice;
  const [type] = [schema['type']].flat();
  switch (type) {
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return typeof schema['minimum'] === 'number' ? schema['minimum'] : 0;
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return firstArguments(schema);
    default:
      return null;
  }
}

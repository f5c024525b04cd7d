/** What the panel of “Try Tool…” and the extension say to each other. Both ends parse what they get. */
import { z } from 'zod';
import type { Json, JsonObject } from '../common/json.ts';
import { effect, place, traceError } from '../trace/schema.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // messages carry nothing else
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

/** A tool, as `rollout tool list` tells of it. */
export const listedTool = z.object({
  name: z.string(), description: z.string(), effect, parameters: jsonObject, output: jsonObject.optional(),
  from: z.object({ kind: z.string(), name: z.string() }),
  /** Where it is written. */
  place: place.optional(),
});
export type ListedTool = z.infer<typeof listedTool>;

/** A call that was made, as `rollout tool try` tells of it. */
export const triedCall = z.object({
  status: z.enum(['ok', 'error']), result: json.optional(), error: traceError.optional(), ms: z.number(), log: z.string(),
  retries: z.array(z.object({ class: z.string() })).optional(),
  files: z.array(z.object({ mime_type: z.string(), content: z.string() })).optional(),
});
export type TriedCall = z.infer<typeof triedCall>;

/** What a panel shows: the editor keeps it for the next window. */
export const tryShown = z.object({ file: z.string(), tool: z.string() });
export type TryShown = z.infer<typeof tryShown>;

export const pageToTry = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('run'), arguments: json }),
  z.object({ type: z.literal('cancel') }),
  /** A line of a stack, or the tool itself. */
  z.object({ type: z.literal('source'), place: place.optional() }),
  z.object({ type: z.literal('document'), title: z.string(), text: z.string(), language: z.string() }),
  z.object({ type: z.literal('copy'), text: z.string() }),
]);
export type PageToTry = z.infer<typeof pageToTry>;

export const tryToPage = z.discriminatedUnion('type', [
  /** The tool as its file has it now. `arguments`: to begin with, or to go on with. `problem`: why it could not be read anew. */
  z.object({ type: z.literal('tool'), tool: listedTool, file: z.string(), arguments: jsonObject.optional(), problem: z.string().optional() }),
  /** A line it printed. */
  z.object({ type: z.literal('told'), text: z.string() }),
  z.object({ type: z.literal('made'), call: triedCall }),
  /** It could not be called, or was not to be after all. */
  z.object({ type: z.literal('unmade'), why: z.enum(['failed', 'cancelled']), text: z.string() }),
]);
export type TryToPage = z.infer<typeof tryToPage>;

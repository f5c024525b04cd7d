/** What the panel of “Try Tool…” and the extension say to each other. Both ends parse what they get. */
import { z } from 'zod';
import type { Json, JsonObject } from '../common/json.ts';
import { change, effect, place, traceError } from '../trace/schema.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // messages carry nothing else
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

/** A tool, as `rollout tool list` tells of it. */
export const listedTool = z.object({
  name: z.string(),
  description: z.string(),
  effect,
  parameters: jsonObject,
  output: jsonObject.optional(),
  from: z.object({ kind: z.string(), name: z.string() }),
  /** Where it is written. */
  place: place.optional(),
});
export type ListedTool = z.infer<typeof listedTool>;

/** A call that was made, as `rollout tool try` tells of it. */
export const triedCall = z.object({
  status: z.enum(['ok', 'error']),
  result: json.optional(),
  error: traceError.optional(),
  ms: z.number(),
  log: z.string(),
  retries: z.array(z.object({ class: z.string() })).optional(),
  files: z.array(z.object({ mime_type: z.string(), content: z.string() })).optional(),
  changes: z.array(change).optional(),
  world: z.object({ name: z.string(), task: z.string() }).optional(),
  needs_world: z.literal(true).optional(),
});
export type TriedCall = z.infer<typeof triedCall>;

/** A batch whose world has the tool. */
export const tryWorld = z.object({
  /** Path of its file, and that as people know it. */
  batch: z.string(),
  name: z.string(),
  /** Ids of its first tasks. `more`: there are others. */
  tasks: z.array(z.string()),
  more: z.boolean(),
});
export type TryWorld = z.infer<typeof tryWorld>;

/** The world that a batch opens for a task: the first one where none is named. null: in no world. */
export const chosenWorld = z.object({ batch: z.string(), task: z.string() }).nullable();
export type ChosenWorld = z.infer<typeof chosenWorld>;

/** What a panel shows: the editor keeps it for the next window. */
export const tryShown = z.object({ file: z.string(), tool: z.string() });
export type TryShown = z.infer<typeof tryShown>;

export const pageToTry = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  /** `world`: where there is one to choose. */
  z.object({ type: z.literal('run'), arguments: json, world: chosenWorld.optional() }),
  z.object({ type: z.literal('cancel') }),
  /** A line of a stack, or the tool itself. */
  z.object({ type: z.literal('source'), place: place.optional() }),
  z.object({ type: z.literal('document'), title: z.string(), text: z.string(), language: z.string() }),
  z.object({ type: z.literal('copy'), text: z.string() }),
]);
export type PageToTry = z.infer<typeof pageToTry>;

export const tryToPage = z.discriminatedUnion('type', [
  /**
   * The tool as its file has it now. `arguments`: to begin with, or to go on with; `worlds`: absent until they are
   * known; `world`: to begin with. `problem`: why it could not be read anew.
   */
  z.object({
    type: z.literal('tool'),
    tool: listedTool,
    file: z.string(),
    worlds: z.array(tryWorld).optional(),
    world: chosenWorld.optional(),
    arguments: jsonObject.optional(),
    problem: z.string().optional(),
  }),
  /** A line it printed. */
  z.object({ type: z.literal('told'), text: z.string() }),
  z.object({ type: z.literal('made'), call: triedCall }),
  /** It could not be called, or was not to be after all. */
  z.object({ type: z.literal('unmade'), why: z.enum(['failed', 'cancelled']), text: z.string() }),
]);
export type TryToPage = z.infer<typeof tryToPage>;

/** Messages between the panel of “Try Tool…” and the extension. Both ends validate them. */
import { z } from 'zod';
import type { Json, JsonObject } from '../common/json.ts';
import { change, effect, place, traceError } from '../trace/schema.ts';

const json = z.unknown() as unknown as z.ZodType<Json>; // messages contain only JSON
const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

/** A tool, as listed by `rollout tool list`. */
export const listedTool = z.object({
  name: z.string(),
  description: z.string(),
  effect,
  parameters: jsonObject,
  output: jsonObject.optional(),
  from: z.object({ kind: z.string(), name: z.string() }),
  /** Where it is defined. */
  place: place.optional(),
});
export type ListedTool = z.infer<typeof listedTool>;

/** A call, as reported by `rollout tool try`. */
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
const tryWorld = z.object({
  /** Path of its file, and its display name. */
  batch: z.string(),
  name: z.string(),
  /** IDs of its first tasks. `more`: whether there are others. */
  tasks: z.array(z.string()),
  more: z.boolean(),
});
export type TryWorld = z.infer<typeof tryWorld>;

/** The world that a batch opens for a task, or for its first task if none is set. null: no world. */
export const chosenWorld = z.object({ batch: z.string(), task: z.string() }).nullable();
export type ChosenWorld = z.infer<typeof chosenWorld>;

/** The state of a panel: the editor restores it in the next window. */
export const tryPanelState = z.object({ file: z.string(), tool: z.string() });
export type TryPanelState = z.infer<typeof tryPanelState>;

export const pageToTry = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  /** `world`: if worlds are available. */
  z.object({ type: z.literal('run'), arguments: json, world: chosenWorld.optional() }),
  z.object({ type: z.literal('cancel') }),
  /** Opens a line of a stack, or the tool itself. */
  z.object({ type: z.literal('source'), place: place.optional() }),
  z.object({ type: z.literal('document'), title: z.string(), text: z.string(), language: z.string() }),
  z.object({ type: z.literal('copy'), text: z.string() }),
]);
export type PageToTry = z.infer<typeof pageToTry>;

export const tryToPage = z.discriminatedUnion('type', [
  /**
   * The current tool in its file. `arguments`: the arguments to show; `worlds`: absent until loaded; `world`: the
   * initial choice. `recorded`: the arguments of recorded calls, newest first. `problem`: why the tool could not be
   * reloaded.
   */
  z.object({
    type: z.literal('tool'),
    tool: listedTool,
    file: z.string(),
    worlds: z.array(tryWorld).optional(),
    world: chosenWorld.optional(),
    arguments: jsonObject.optional(),
    recorded: z.array(jsonObject).optional(),
    problem: z.string().optional(),
  }),
  /** A line that the call printed. */
  z.object({ type: z.literal('output'), text: z.string() }),
  z.object({ type: z.literal('result'), call: triedCall }),
  /** The call failed to start, or was cancelled. */
  z.object({ type: z.literal('noResult'), why: z.enum(['failed', 'cancelled']), text: z.string() }),
]);
export type TryToPage = z.infer<typeof tryToPage>;

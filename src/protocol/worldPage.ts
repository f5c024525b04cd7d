/** Messages between a World page and the extension. Both ends validate them. */
import { z } from 'zod';
import type { Json, JsonObject } from '../common/json.ts';
import { scenarioHealth } from '../common/worldHealth.ts';
import { place as filePlace } from '../trace/schema.ts';
import { driveMessage, driveRequest } from './drive.ts';

const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>; // messages contain only JSON
const json = z.unknown() as unknown as z.ZodType<Json>;
const count = z.int().min(0);

export const worldTable = z.object({
  name: z.string(),
  /** At the start. */
  rows: count,
  columns: z.array(
    z.object({
      name: z.string(),
      /** As declared; empty: unknown. */
      type: z.string(),
      isKey: z.boolean(),
      isRequired: z.boolean(),
    }),
  ),
  /** `references`: columns of the other table; empty: its key. */
  foreignKeys: z.array(z.object({ columns: z.array(z.string()), table: z.string(), references: z.array(z.string()) })),
});
export type WorldTable = z.infer<typeof worldTable>;

export const worldTool = z.object({
  name: z.string(),
  /** Method and path, where a tool is an endpoint. */
  request: z.string().optional(),
  summary: z.string(),
  description: z.string(),
  /** A JSON Schema of the arguments. Absent: known only to the code. */
  parameters: jsonObject.optional(),
  /** Line of its code in the code of the world, from 1. */
  line: z.int().min(1).optional(),
  /** File of a tool of a module, as its page names it. */
  file: z.string().optional(),
});
export type WorldTool = z.infer<typeof worldTool>;

export const worldTask = z.object({
  id: z.string(),
  /** Its ID in datasets, if that is another. */
  task: z.string().optional(),
  text: z.string(),
  /** Whether batches leave it out. */
  isSetAside: z.boolean().optional(),
  /** What judges it: `code`, `SQL`, `rubric`. */
  verifiers: z.array(z.string()),
});
export type WorldTask = z.infer<typeof worldTask>;

/** A task none of whose attempts passed, each for a reason that lies in the world. */
export const blamedTask = z.object({ task: z.string(), attempts: count, reasons: z.array(z.string()) });
export type BlamedTask = z.infer<typeof blamedTask>;

/** A verifier of a task as published. */
export const taskVerifier = z.object({
  kind: z.enum(['code', 'SQL', 'rubric', 'answer']),
  /** Python, or the text of an answer. Empty: criteria alone. */
  text: z.string(),
  /** Name of the part that opens in the editor. */
  part: z.string().optional(),
  function: z.string().optional(),
  reasoning: z.string().optional(),
  success: z.string().optional(),
  failure: z.string().optional(),
});
export type TaskVerifier = z.infer<typeof taskVerifier>;

/** Rows of a table that are read and sent. */
export const MAX_TABLE_ROWS = 50_000;

export const tableRows = z.object({
  table: z.string(),
  columns: z.array(z.string()),
  /** The first rows. A value `{sql}` is an expression that only the database evaluates. */
  rows: z.array(z.array(json)),
  /** Whether there are more. */
  isPart: z.boolean().optional(),
  /** What could not be read, as a sentence. */
  problem: z.string().optional(),
});
export type TableRows = z.infer<typeof tableRows>;

export const worldDetails = z.object({
  /** Of the world file. */
  world: z.string(),
  /** Of the scenario, or of the world without scenarios. */
  title: z.string(),
  kind: z.enum(['module', 'code', 'other']),
  /** As people name it, such as `Agent World Model`. */
  format: z.string().optional(),
  /** Display path of the world file. */
  file: z.string(),
  scenario: z.string().optional(),
  description: z.string(),
  tasks: z.array(worldTask),
  tables: z.array(worldTable),
  tools: z.array(worldTool),
  /** Name and lines of its code. */
  code: z.object({ file: z.string(), lines: count }),
  last: z.object({ batch: z.string(), name: z.string(), text: z.string() }).optional(),
  /** What is wrong with its files. */
  problems: z.array(z.string()),
  canExtract: z.boolean(),
  /** Why its calls cannot be made here. Absent: they can. */
  cannotDrive: z.string().optional(),
});
export type WorldDetails = z.infer<typeof worldDetails>;

export const WORLD_TABS = ['tasks', 'schema', 'rows', 'tools', 'code', 'verifiers', 'health', 'drive'] as const;
export type WorldTabId = (typeof WORLD_TABS)[number];

/** The state of a panel: the editor restores it in the next window. */
export const worldPanelState = z.object({ file: z.string(), scenario: z.string().optional() });
export type WorldPanelState = z.infer<typeof worldPanelState>;

export const pageToWorld = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready') }),
  z.object({ type: z.literal('reload') }),
  z.object({ type: z.literal('rows'), table: z.string() }),
  z.object({ type: z.literal('code') }),
  z.object({ type: z.literal('verifiers'), task: count }),
  /** Opens a part of the scenario, or a file of a module, at a line. */
  z.object({ type: z.literal('open'), part: z.string(), task: count.optional(), line: z.int().min(1).optional() }),
  z.object({ type: z.literal('file'), file: z.string(), line: z.int().min(1).optional() }),
  /** Opens the line where a call failed. */
  z.object({ type: z.literal('source'), place: filePlace }),
  /** Opens a published file, by its path in the folder of the scenario. */
  z.object({ type: z.literal('published'), file: z.string(), line: z.int().min(1), column: z.int().min(1) }),
  z.object({ type: z.literal('worldFile') }),
  z.object({ type: z.literal('check') }),
  /** Sets a task aside, or stops doing so. `task`: its ID in datasets. */
  z.object({ type: z.literal('setAside'), task: z.string(), isSetAside: z.boolean() }),
  /** Finds tasks of a batch whose failures all blame their world. */
  z.object({ type: z.literal('blame'), batch: z.string() }),
  /** Opens a session for a task, in place of the one that is open. */
  z.object({ type: z.literal('openDrive'), task: z.string().optional() }),
  z.object({ type: z.literal('drive'), request: driveRequest }),
  z.object({ type: z.literal('closeDrive') }),
  /** Makes the Python environment of code worlds, then opens a session. */
  z.object({ type: z.literal('setUpPython'), task: z.string().optional() }),
  /** Opens a file that was kept, or imports a demonstration and shows its batch. */
  z.object({ type: z.literal('kept'), file: z.string(), how: z.enum(['open', 'import']) }),
  z.object({ type: z.literal('extract') }),
  z.object({ type: z.literal('run') }),
  z.object({ type: z.literal('batch'), batch: z.string() }),
  z.object({ type: z.literal('document'), title: z.string(), text: z.string(), language: z.string() }),
  z.object({ type: z.literal('copy'), text: z.string() }),
]);
export type PageToWorld = z.infer<typeof pageToWorld>;

export const worldToPage = z.discriminatedUnion('type', [
  z.object({ type: z.literal('world'), details: worldDetails, tab: z.enum(WORLD_TABS).optional() }),
  z.object({ type: z.literal('rows'), rows: tableRows }),
  z.object({ type: z.literal('code'), text: z.string() }),
  z.object({ type: z.literal('verifiers'), task: count, verifiers: z.array(taskVerifier) }),
  z.object({ type: z.literal('drive'), message: driveMessage }),
  /** The session has ended. `text`: why, unless it was closed. */
  z.object({
    type: z.literal('driveEnded'),
    text: z.string().optional(),
    /** Python or one of its packages is missing. */
    needsPython: z.boolean().optional(),
  }),
  /** The tasks of this scenario, by their ID in datasets. */
  z.object({ type: z.literal('blamed'), batch: z.string(), tasks: z.array(blamedTask) }),
  z.object({ type: z.literal('health'), health: scenarioHealth, at: z.number() }),
  /** The world cannot be shown, or what was requested last. */
  z.object({ type: z.literal('problem'), text: z.string(), hint: z.string() }),
]);
export type WorldToPage = z.infer<typeof worldToPage>;

/** What the runner of code worlds answers (media/python/world_runner.py). It runs code of strangers. */
import { z } from 'zod';
import { json, jsonObject } from '../../config/submission/parts.ts';
import { change } from '../../trace/schema.ts';

const id = z.int().min(1);

export const runnerFault = z.object({
  /** An error class of traces, `load_error`, or `missing_package`. */
  class: z.string(),
  message: z.string(),
  /** What went wrong, if the message is what an HTTP client would see. */
  why: z.string().optional(),
  file: z.string().optional(),
  line: z.int().min(1).optional(),
  /** From 1, where Python reports it. */
  column: z.int().min(1).optional(),
  stack: z.string().optional(),
  changes: z.array(change).nullable().optional(),
  /** The scenario's code failed, and did not merely refuse the call. */
  blame: z.literal('world').optional(),
  /** Its process was killed, and not by the runner. */
  killed: z.boolean().optional(),
});
export type RunnerFault = z.infer<typeof runnerFault>;

export const runnerMessage = z.union([
  z.object({ id, error: runnerFault }),
  z.object({ session: z.string().optional(), log: z.enum(['out', 'err']), text: z.string() }),
  z.object({ session: z.string(), ended: z.string(), killed: z.boolean() }),
  z.object({ id, ok: json }),
]);

export const loadedScenario = z.object({
  tools: z.array(z.object({ name: z.string(), description: z.string().default(''), parameters: jsonObject })),
  tables: z.array(z.string()),
  /** Whether sessions are forked; otherwise, each needs a process of its own. */
  fork: z.boolean(),
  ms: z.number(),
});
export type LoadedScenario = z.infer<typeof loadedScenario>;

export const calledTool = z.object({
  response: json,
  /** null: the database is too large to compare. */
  changes: z.array(change).nullable(),
  /** Duration of the tool itself. */
  ms: z.number(),
});

export const savedState = z.object({ state: z.base64() });

export const verified = z.object({ result: json });

/** States that differ from a final state in one row. `about`: which, as a phrase. */
export const stateMutants = z.object({ mutants: z.array(z.object({ about: z.string(), state: z.base64() })) });

/** What several sections of a submission consist of. */
import { z } from 'zod';
import type { Json, JsonObject } from '../../common/json.ts';
import { CONTROLLED_ENGINES, STREAMING } from '../defaults.ts';

export const sha = z.string().regex(/^[0-9a-f]{64}$/);
export const json = z.unknown() as unknown as z.ZodType<Json>;
export const jsonObject = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

/** A position in a file, 1-based. `file` is relative to the workspace root, with `/`. */
export const position = z.object({ file: z.string(), line: z.number().int().min(1), column: z.number().int().min(1) });
export type Position = z.infer<typeof position>;

export const submittedSampling = z.object({
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  max_tokens: z.number().int().optional(),
  stop: z.array(z.string()).optional(),
  extra: jsonObject.optional(),
});
export type SubmittedSampling = z.infer<typeof submittedSampling>;

export const submittedModel = z.object({
  /**
   * Replicas; a rollout stays with one as long as it is healthy. `demo:` (with an optional query) is the built-in demo
   * model.
   */
  endpoints: z.array(z.string()).min(1),
  name: z.string(),
  api_key: z.string().optional(),
  headers: z.record(z.string(), z.string()),
  /** Header by which a router sends all calls of a task to the same replica. */
  session_header: z.string().optional(),
  sampling: submittedSampling,
  capture: z.object({ token_ids: z.boolean(), logprobs: z.boolean() }),
  /** When replies are streamed. Absent: `auto`. */
  stream: z.enum(STREAMING).optional(),
  /** The engine that the server controls. Absent: `none`. */
  control: z.enum(CONTROLLED_ENGINES).optional(),
  /** Per million tokens. */
  price: z.object({ input: z.number(), output: z.number(), cached: z.number().optional() }).optional(),
  /** How long a call may wait for an endpoint that does not respond before the attempt is given up. */
  endpoint_wait_seconds: z.number(),
});
export type SubmittedModel = z.infer<typeof submittedModel>;

/** Models that users' code may ask, by name. */
export const submittedModels = z.record(z.string(), submittedModel).optional();

/** A user's TypeScript or JavaScript module, bundled by esbuild to one ES module with an external source map. */
export const submittedModule = z.object({
  /** Path relative to the workspace root, with `/`. */
  file: z.string(),
  /** Absolute path on the submitting machine, only for the debugger. */
  path: z.string().optional(),
  bundle: sha,
  map: sha,
});
export type SubmittedModule = z.infer<typeof submittedModule>;

/** Programs that a tool or world starts, beyond Node.js. */
export const needs = z.array(z.string()).optional();

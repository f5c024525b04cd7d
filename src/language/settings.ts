/**
 * Settings that an editor sends to the language server: at the start as `initializationOptions`, later with
 * `workspace/didChangeConfiguration`.
 */
import { z } from 'zod';
import { DEFAULTS } from '../config/defaults.ts';
import { queueInfo } from '../protocol/shares.ts';

export const languageSettings = z.object({
  /**
   * Whether the workspace is trusted. Otherwise there are no network requests, and no environment values are shown.
   */
  trusted: z.boolean().default(false),
  /** Whether to query the endpoints in files for models and token counts, if they are allowed. */
  askEndpoints: z.boolean().default(true),
  /** Places that may be queried, by ID (see `config/queryPlaces.ts`), or all that files name. */
  allowedPlaces: z.union([z.literal('all'), z.array(z.string())]).default([]),
  /** Whether to show the number of tokens of prompts. */
  tokenHints: z.boolean().default(true),
  /** Names of the variables whose values the editor stores; never the values. */
  keptNames: z.array(z.string()).default([]),
  /** Where batches run whose files name no target. */
  target: z.string().default(DEFAULTS.target),
  /** The queues of the servers of targets, as far as the editor has seen them. */
  queues: z.record(z.string(), z.array(queueInfo)).default({}),
});
export type LanguageSettings = z.output<typeof languageSettings>;

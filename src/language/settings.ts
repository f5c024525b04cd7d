/**
 * What an editor tells the language server of itself: at the start as `initializationOptions`, later by
 * `workspace/didChangeConfiguration`.
 */
import { z } from 'zod';

export const languageSettings = z.object({
  /**
   * Whether the files are the user's own. Otherwise nothing is asked over the network, and no value of the environment
   * is shown.
   */
  trusted: z.boolean().default(false),
  /** Whether the endpoints that files name may be asked for their models, and to count tokens. */
  askEndpoints: z.boolean().default(true),
  /** Whether prompts are shown with their number of tokens. */
  tokenHints: z.boolean().default(true),
  /** Names of variables that the editor keeps values of; never the values. */
  keptNames: z.array(z.string()).default([]),
});
export type LanguageSettings = z.output<typeof languageSettings>;

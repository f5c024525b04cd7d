/**
 * What the language server may query outside the files: model endpoints, and MCP servers, which it starts. Files may
 * come with a workspace, so the editor asks the user once for each, by its content.
 */
import { z } from 'zod';

/** Notification of the language server to the editor with places that files name. */
export const PLACES_NAMED = 'rollout/placesNamed';

const queryPlace = z.object({
  /** Hash of its content: a changed command or URL is another place. */
  id: z.string(),
  kind: z.enum(['endpoint', 'command', 'server']),
  /** The URL or the command line. */
  title: z.string(),
  /** Where a command runs. */
  folder: z.string().optional(),
  /** Variables whose values it would receive. */
  variables: z.array(z.string()),
});
export type QueryPlace = z.infer<typeof queryPlace>;

export const placesNamed = z.object({ places: z.array(queryPlace) });

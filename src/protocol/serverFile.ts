/**
 * `server.json`: how clients find the server of a store. Has mode 0600. The server writes it once it listens, and
 * removes it when it stops.
 */
import { z } from 'zod';
import { readOldHint } from './oldHint.ts';

export const serverFile = z.object({
  pid: z.number().int(),
  host: z.string(),
  port: z.number().int(),
  /** Full client token. */
  token: z.string(),
  /** Read-only client token. */
  read_token: z.string(),
  protocol: z.number().int(),
  product: z.string(),
  started_at: z.number().int(),
});
export type ServerFile = z.infer<typeof serverFile>;

/** The line a server prints on stdout once it listens, or finds that another server uses its store. */
export const readyLine = z.union([
  z.object({ type: z.literal('ready'), host: z.string(), port: z.number().int(), pid: z.number().int() }),
  z.object({ type: z.literal('taken'), message: z.string() }),
  z.preprocess(
    readOldHint,
    z.object({ type: z.literal('failed'), code: z.string(), message: z.string(), hint: z.string().optional() }),
  ),
]);
export type ReadyLine = z.infer<typeof readyLine>;

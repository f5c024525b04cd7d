/** The stored tokens of a target. */
import { z } from 'zod';
import { jsonOf } from '../../../common/json.ts';

/** Includes the URL, so that the tokens are never sent to another server with the same target name. */
const storedTokens = z.object({ url: z.string(), token: z.string(), read: z.string().optional() });
export type StoredTokens = z.infer<typeof storedTokens>;

/** Returns undefined if another version wrote it. */
export function readTokens(text: string): StoredTokens | undefined {
  return storedTokens.safeParse(jsonOf(text)).data;
}

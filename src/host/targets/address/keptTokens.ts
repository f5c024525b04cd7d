/** What the secret storage holds of a target. */
import { z } from 'zod';
import { jsonOf } from '../../../common/json.ts';

/** The address is kept with them: they go to no other that somebody gives the same name. */
const keptTokens = z.object({ url: z.string(), token: z.string(), read: z.string().optional() });
export type KeptTokens = z.infer<typeof keptTokens>;

/** undefined: it is of another version. */
export function readTokens(text: string): KeptTokens | undefined {
  return keptTokens.safeParse(jsonOf(text)).data;
}

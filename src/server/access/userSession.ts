/** What the token of a user contains. Its holder can read it; the signature of the token keeps it as it is. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { z } from 'zod';
import { RIGHTS } from '../../protocol/access.ts';

/** A user as the cluster knows it. */
const clusterUser = z.object({
  user: z.string(),
  uid: z.string().optional(),
  groups: z.array(z.string()),
  extra: z.record(z.string(), z.array(z.string())).optional(),
});
export type ClusterUser = z.infer<typeof clusterUser>;

const userSession = clusterUser.extend({
  /** Of the server, where its rights are granted. */
  namespace: z.string(),
  /** At the login, for when the cluster cannot be asked. */
  rights: z.array(z.enum(RIGHTS)),
  /** Milliseconds since the epoch. */
  until: z.number().int(),
  readOnly: z.literal(true).optional(),
});
export type UserSession = z.infer<typeof userSession>;

/** Far more than the groups of any user, and far less than what could fill the memory. */
const MAX_BYTES = 256 * 1024;

/** Compressed, because users of large companies have hundreds of groups, and headers are limited. */
export function packSession(session: UserSession): string {
  return deflateRawSync(JSON.stringify(session)).toString('base64url');
}

/** Reads what `packSession` wrote and the server signed. */
export function unpackSession(packed: string): UserSession {
  const text = inflateRawSync(Buffer.from(packed, 'base64url'), { maxOutputLength: MAX_BYTES }).toString('utf8');
  return userSession.parse(JSON.parse(text));
}

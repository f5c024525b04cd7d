/** Refuses callers that lack a right, and says how they get it. */
import { StudioError } from '../../common/errors.ts';
import { missingRightText, RIGHTS, type Right, type You } from '../../protocol/access.ts';
import type { ClientIdentity } from './tokens.ts';

/** Throws `forbidden` if a client lacks a right. */
export function requireRight({ rights, session }: ClientIdentity, right: Right): void {
  if (rights.has(right)) return;
  if (session === undefined)
    throw new StudioError('forbidden', 'This token is read-only.', {
      hint: 'Use the full token in server.json.',
      details: { right },
    });
  if (session.readOnly === true && session.rights.includes(right))
    throw new StudioError('forbidden', 'This token is read-only.', {
      hint: 'Connect with your own account instead of a link that only reads.',
      details: { right },
    });
  throw missingRight(session.user, right, session.namespace);
}

/** Says which right a user of the cluster lacks, and the command with which an administrator grants it. */
export function missingRight(user: string, right: Right, namespace: string): StudioError {
  const { message, hint } = missingRightText(user, right, namespace);
  return new StudioError('forbidden', message, { hint, details: { right, user } });
}

/** Returns the rights in the order of the table. */
export function sortedRights(rights: ReadonlySet<Right>): Right[] {
  return RIGHTS.filter((right) => rights.has(right));
}

/** Returns what a client is told about itself. */
export function youOf({ rights, session }: ClientIdentity): You {
  return {
    ...(session === undefined ? {} : { user: session.user, namespace: session.namespace }),
    rights: sortedRights(rights),
  };
}

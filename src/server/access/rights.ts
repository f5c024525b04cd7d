/** Refuses callers that lack a right, and says how they get it. */
import { StudioError } from '../../common/errors.ts';
import { bindCommand, type Right, roleWith } from '../../protocol/access.ts';
import type { ClientIdentity } from './tokens.ts';

const WORDS: Readonly<Record<Right, string>> = {
  read: 'read',
  launch: 'launch batches',
  control: 'control batches',
  administer: 'administer',
};

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
  return new StudioError(
    'forbidden',
    `${user} may not ${WORDS[right]} here: the right “${right}” is missing in namespace ${namespace}.`,
    {
      hint: `An administrator of the cluster can grant it: ${bindCommand(user, roleWith(right), namespace)}`,
      details: { right, user },
    },
  );
}

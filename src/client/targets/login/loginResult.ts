/** What a server answers to a login. */
import { errorCodeOf, StudioError } from '../../../common/errors.ts';
import { jsonOf } from '../../../common/json.ts';
import type { UserCredential } from '../../../kubernetes/access/connection.ts';
import { type LoginReply, loginReply } from '../../../protocol/access.ts';
import { httpError } from '../../../protocol/client.ts';

export type LoginResult = LoginReply | { readonly error: StudioError };

/** Returns the session, or what the server says. `update`: what to do about an older server, which this throws. */
export function readLogin(status: number, answer: string, update: string): LoginResult {
  const parsed = jsonOf(answer);
  if (status === 200) {
    const session = loginReply.safeParse(parsed);
    if (session.success) return session.data;
  }
  const failure = httpError.safeParse(parsed);
  if (!failure.success)
    throw new StudioError('version', `The server answers logins with HTTP status ${status}.`, { hint: update });
  const { code, message, hint, details } = failure.data.error;
  return {
    error: new StudioError(
      // Servers of earlier versions have no such path.
      code === 'not_found' ? 'unsupported' : errorCodeOf(code),
      message,
      {
        ...(hint === undefined ? {} : { hint }),
        ...(details === undefined ? {} : { details }),
      },
    ),
  };
}

/** Throws StudioError `unsupported` if a kubeconfig acts as another user, which only the API server supports. */
export function refuseImpersonation({ impersonates }: UserCredential): void {
  if (impersonates === undefined) return;
  throw new StudioError('unsupported', `The kubeconfig acts as ${impersonates}, with whom a login is not possible.`, {
    hint: 'Use a context of that user.',
  });
}

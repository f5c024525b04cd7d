/**
 * Whose batches a caller sees and may change. A batch that a user of the cluster launched is private to that user, to
 * those whom it is shared with, and to administrators. Others than its user only read it: whoever could edit it, or add
 * tasks to it, could get its values of `${env:…}` out of its tools. Client tokens see and change everything.
 */
import { StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { Identity } from './tokens.ts';

export interface Caller {
  /** undefined: whoever has a client token, or the server itself. */
  readonly user: string | undefined;
  /** Whether it sees all batches, whoever launched them. */
  readonly all: boolean;
}

/** The server itself, and whoever has a client token. */
export const OPERATOR: Caller = { user: undefined, all: true };

/** Returns the caller of a route. What workers may see is decided elsewhere. */
export function callerOf(identity: Identity | undefined): Caller {
  if (identity?.kind !== 'client' || identity.session === undefined) return OPERATOR;
  return { user: identity.session.user, all: identity.administers ?? identity.rights.has('administer') };
}

type Owned = Pick<BatchRow, 'batch' | 'by' | 'shared'>;

export function sees({ user, all }: Caller, { by, shared }: Owned): boolean {
  if (all || by === undefined || by === user || shared === 'everyone') return true;
  return user !== undefined && shared?.includes(user) === true;
}

/** Throws `forbidden` unless the caller launched the batch, administers the server, or the batch belongs to nobody. */
export function requireOwn({ user, all }: Caller, { batch, by }: Owned): void {
  if (all || by === undefined || by === user) return;
  throw new StudioError('forbidden', `Batch ${batch} belongs to ${by}: others can only read it.`, {
    hint: `Ask ${by} or an administrator, or fork one of its attempts.`,
    details: { owner: by },
  });
}

/** Returns whether the caller may use the values of `${env:…}` of a batch for a batch of its own, as in a fork. */
export function mayUseValues({ user }: Caller, { by }: Owned): boolean {
  return user === undefined || by === undefined || by === user;
}

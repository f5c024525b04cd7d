/**
 * Access tokens. Client tokens belong to one run of a server, unless they are configured. The tokens of workers are
 * signed with the store's key, so they outlive the server and are valid at every server of the store:
 *
 * - The enrollment token of a batch, which all its workers share, only opens sessions and gets their programs.
 * - The enrollment token of pods does so for pods of the batch, each of which gets a single rollout. All share it, so a
 *   pod also says its UID, which other pods do not know.
 * - The token of a session gives access to what the session holds, until it ends.
 *
 * So are those of users of a cluster, who logged in with a credential of the cluster; see logins.ts.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { StudioError } from '../../common/errors.ts';
import { RIGHTS, type Right } from '../../protocol/access.ts';
import { packSession, type UserSession, unpackSession } from './userSession.ts';

/** Tokens of clients: with full access, or read-only. */
export interface ClientTokens {
  readonly full: string;
  readonly read: string;
}

/** A caller, and what it may do. */
export type Identity = ClientIdentity | EnrollmentIdentity | SessionIdentity;
/** Whose a token is. What a user may do now is asked of the cluster. */
export type TokenHolder = Identity | UserHolder;

export interface ClientIdentity {
  readonly kind: 'client';
  readonly rights: ReadonlySet<Right>;
  /** Whether it sees all batches, if `rights` does not say so: with a link of an administrator that only reads. */
  readonly administers?: boolean;
  /** Who it is. undefined: whoever has one of the client tokens. */
  readonly session?: UserSession;
}

interface UserHolder {
  readonly kind: 'user';
  readonly session: UserSession;
}

/** May open sessions of one batch. `pods`: only as a pod of the batch that gets a single rollout. */
export interface EnrollmentIdentity {
  readonly kind: 'enrollment';
  readonly batch: string;
  readonly pods: boolean;
}

/** A session, which may have ended. `owner` identifies its worker, see `ownerOf`. */
export interface SessionIdentity {
  readonly kind: 'session';
  readonly batch: string;
  readonly session: string;
  readonly owner: string;
}

const ENROLLMENT = /^([wp])\.([A-Za-z0-9_-]{1,64})\.([0-9a-f]{64})$/;
const USER = /^u\.([A-Za-z0-9_-]+)\.([0-9a-f]{64})$/;
const ALL: ReadonlySet<Right> = new Set(RIGHTS);
const READ: ReadonlySet<Right> = new Set(['read']);
const SESSION = /^s\.([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{1,64})\.([0-9a-f]{16})\.([0-9a-f]{64})$/;
/** A browser's WebSocket cannot send headers: there the token is a subprotocol. */
const SUBPROTOCOL = /^token\.(.+)$/;

export class Tokens {
  readonly full: string;
  readonly read: string;
  readonly #key: string;

  /** `key`: the store's secret key. */
  constructor(
    key: string,
    clients: ClientTokens = { full: randomBytes(32).toString('hex'), read: randomBytes(32).toString('hex') },
  ) {
    this.full = clients.full;
    this.read = clients.read;
    this.#key = key;
  }

  enrollment(batch: string): string {
    return `w.${batch}.${this.#sign(`worker:${batch}`)}`;
  }

  /** Returns the enrollment token for the pods of a batch that each get a single rollout. */
  podEnrollment(batch: string): string {
    return `p.${batch}.${this.#sign(`pod:${batch}`)}`;
  }

  /** `pod`: see `ownerOf`. */
  session(batch: string, session: string, worker: string, pod?: string): string {
    const what = `${batch}.${session}.${ownerOf(worker, pod)}`;
    return `s.${what}.${this.#sign(`session:${what}`)}`;
  }

  /**
   * Returns the ID of the session that follows one whose worker reconnects. Fixed, so that a worker that did not
   * receive the welcome of its new session can still take that over with the previous token; only servers know it.
   */
  nextSession(session: string): string {
    return `s${this.#sign(`next:${session}`).slice(0, 32)}`;
  }

  /** Returns the token of a user of the cluster, until the end of the session. */
  user(session: UserSession): string {
    const packed = packSession(session);
    return `u.${packed}.${this.#sign(`user:${packed}`)}`;
  }

  /** Returns whose token this is; undefined if the token is unknown, or its session has ended. */
  identify(token: string, now = Date.now()): TokenHolder | undefined {
    const user = USER.exec(token);
    if (user !== null) {
      const [, packed = '', signature = ''] = user;
      if (!same(signature, this.#sign(`user:${packed}`))) return undefined;
      const session = unpackSession(packed);
      return session.until > now ? { kind: 'user', session } : undefined;
    }
    const enrollment = ENROLLMENT.exec(token);
    if (enrollment !== null) {
      const [, kind, batch = '', signature = ''] = enrollment;
      const pods = kind === 'p';
      return same(signature, this.#sign(`${pods ? 'pod' : 'worker'}:${batch}`))
        ? { kind: 'enrollment', batch, pods }
        : undefined;
    }
    const ofSession = SESSION.exec(token);
    if (ofSession !== null) {
      const [, batch = '', session = '', owner = '', signature = ''] = ofSession;
      return same(signature, this.#sign(`session:${batch}.${session}.${owner}`))
        ? { kind: 'session', batch, session, owner }
        : undefined;
    }
    // Always compare both, so that the time does not leak which one matched.
    const full = same(token, this.full);
    const read = same(token, this.read);
    return full || read ? { kind: 'client', rights: full ? ALL : READ } : undefined;
  }

  #sign(what: string): string {
    return createHmac('sha256', this.#key).update(what).digest('hex');
  }
}

/** Refuses an enrollment token where only the token of a session is accepted. */
export function notSession(): StudioError {
  return new StudioError('forbidden', 'The enrollment token only opens sessions. Use the token of the session.');
}

/** Returns what a session token contains of its worker: its name, and its pod if that gets a single rollout. */
export function ownerOf(worker: string, pod?: string): string {
  const owner = pod === undefined ? worker : JSON.stringify([worker, pod]);
  return createHash('sha256').update(owner).digest('hex').slice(0, 16);
}

/** Returns the token of a request. */
export function presentedToken(request: IncomingMessage): string | undefined {
  const header = request.headers.authorization;
  if (header !== undefined) return /^Bearer +(\S+)$/i.exec(header)?.[1];
  for (const protocol of (request.headers['sec-websocket-protocol'] ?? '').split(',')) {
    const found = SUBPROTOCOL.exec(protocol.trim());
    if (found !== null) return found[1];
  }
  return undefined;
}

/** Compares in constant time, independent of the lengths. */
export function same(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

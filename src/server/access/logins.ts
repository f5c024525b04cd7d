/**
 * Users of a cluster at its server, as at an aggregated API server of Kubernetes: the cluster says who a credential
 * belongs to (TokenReview, or its authority for client certificates) and what its user may do (SubjectAccessReview).
 * A login gives a token of this server, for at most an hour. What its user may do is asked again every minute, so that
 * a Role that was taken away takes effect. While the cluster cannot be asked, what it said last counts, and nobody logs
 * in.
 */
import { errorText, StudioError } from '../../common/errors.ts';
import { sha256Hex } from '../../common/hash.ts';
import type { Log } from '../../common/log.ts';
import type { LoginReply, Right } from '../../protocol/access.ts';
import { missingRight, sortedRights } from './rights.ts';
import type { ClientIdentity, Tokens } from './tokens.ts';
import type { ClusterUser, UserSession } from './userSession.ts';

/** Asks the cluster that the server runs in. Its functions throw StudioError; `forbidden`: the server may not ask. */
export interface Reviewer {
  /** The namespace of the rights. */
  readonly namespace: string;
  /** Returns whose token this is; undefined if the cluster does not know it. */
  authenticate(token: string, signal: AbortSignal): Promise<ClusterUser | undefined>;
  rights(user: ClusterUser, signal: AbortSignal): Promise<readonly Right[]>;
  /** The certificates (PEM) that client certificates are verified with; undefined while they are unknown. */
  clientAuthority(): string | undefined;
  /** Calls back when they change. Returns the function that ends this. */
  watchClientAuthority(changed: () => void): () => void;
  close(): void;
}

/** How a user identifies: by a token of the cluster, or by the verified certificate of the connection. */
export type Credential = { readonly token: string } | { readonly certificate: ClusterUser };

export interface LoginsOptions {
  readonly tokens: Tokens;
  /** undefined: the server is not in a cluster. */
  readonly reviewer: Reviewer | undefined;
  readonly log: Log;
  readonly now?: () => number;
}

const SESSION_MS = 60 * 60_000;
const RIGHTS_MS = 60_000;
/** While the cluster does not answer, it is not asked at each request. */
const RETRY_MS = 5_000;
const REVIEW_MS = 10_000;
/** Logins at a time. Whoever reaches the server can begin one, and each costs the API server something. */
const MAX_LOGINS = 16;
const MAX_USERS = 10_000;

/** What the cluster said last about a user. */
interface UserRights {
  rights: ReadonlySet<Right>;
  /** When the cluster is asked again. */
  next: number;
  asking: Promise<void> | undefined;
}

export class Logins {
  readonly #options: LoginsOptions;
  readonly #now: () => number;
  readonly #known = new Map<string, UserRights>();
  /** The first questions about users whom a proxy named, by user. */
  readonly #first = new Map<string, Promise<void>>();
  #open = 0;

  constructor(options: LoginsOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => Date.now());
  }

  get reviewer(): Reviewer | undefined {
    return this.#options.reviewer;
  }

  /**
   * Throws `unauthorized`, `forbidden` without any right, `unavailable`, or `unsupported` if the server may not ask.
   */
  async login(credential: Credential, signal: AbortSignal): Promise<LoginReply> {
    const { reviewer, log } = this.#options;
    if (reviewer === undefined)
      throw new StudioError('unsupported', 'This server is not in a cluster whose users it could ask for.', {
        hint: 'Use a client token.',
      });
    if (this.#open >= MAX_LOGINS)
      throw new StudioError('unavailable', 'Too many users log in at the same time.', { hint: 'Try again.' });
    this.#open += 1;
    try {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(REVIEW_MS)]);
      const user =
        'certificate' in credential ? credential.certificate : await reviewer.authenticate(credential.token, limit);
      if (user === undefined)
        throw new StudioError('unauthorized', 'The cluster does not accept the token.', {
          hint: 'Log in to the cluster again (kubectl must work with this context).',
        });
      const rights = await reviewer.rights(user, limit);
      if (!rights.includes('read')) throw missingRight(user.user, 'read', reviewer.namespace);
      log(`${user.user} logged in`);
      return this.#reply(reviewer.namespace, user, rights);
    } catch (error) {
      throw StudioError.is(error, 'forbidden') && error.details?.['right'] === undefined ? mayNotAsk(error) : error;
    } finally {
      this.#open -= 1;
    }
  }

  #reply(namespace: string, user: ClusterUser, rights: readonly Right[]): LoginReply {
    const { tokens } = this.#options;
    const session: UserSession = { ...user, namespace, rights: [...rights], until: this.#now() + SESSION_MS };
    this.#keep(keyOf(user), { rights: new Set(rights), next: this.#now() + RIGHTS_MS, asking: undefined });
    return {
      token: tokens.user(session),
      read_token: tokens.user({ ...session, readOnly: true }),
      user: user.user,
      rights: [...rights],
      expires_in_ms: SESSION_MS,
    };
  }

  /** Returns a user whom a proxy named, with its rights. Throws `unavailable` while the cluster does not answer. */
  async proxied(user: ClusterUser): Promise<ClientIdentity> {
    const { reviewer, log } = this.#options;
    if (reviewer === undefined)
      throw new StudioError('unsupported', 'This server is not in a cluster whose users have rights.');
    const key = keyOf(user);
    if (!this.#known.has(key)) {
      let first = this.#first.get(key);
      if (first === undefined) {
        first = reviewer
          .rights(user, AbortSignal.timeout(REVIEW_MS))
          .then((rights) => {
            log(`${user.user} came through the proxy`);
            this.#keep(key, { rights: new Set(rights), next: this.#now() + RIGHTS_MS, asking: undefined });
          })
          .catch((error: unknown) => {
            throw StudioError.is(error, 'forbidden') ? mayNotAsk(error) : error;
          })
          .finally(() => this.#first.delete(key));
        this.#first.set(key, first);
      }
      await first;
    }
    const session = { ...user, namespace: reviewer.namespace, rights: [], until: this.#now() + SESSION_MS };
    const { rights } = await this.identity(session);
    return { kind: 'client', rights, session: { ...session, rights: sortedRights(rights) } };
  }

  /** Returns the caller with what it may do now. */
  async identity(session: UserSession): Promise<ClientIdentity> {
    const all = await this.#rights(session);
    if (session.readOnly !== true) return { kind: 'client', rights: all, session };
    const rights = new Set<Right>(all.has('read') ? ['read'] : []);
    return { kind: 'client', rights, administers: all.has('administer'), session };
  }

  async #rights(session: UserSession): Promise<ReadonlySet<Right>> {
    const { reviewer } = this.#options;
    const key = keyOf(session);
    let known = this.#known.get(key);
    if (known === undefined) {
      known = { rights: new Set(session.rights), next: 0, asking: undefined };
      this.#keep(key, known);
    }
    const entry = known;
    if (reviewer !== undefined && entry.next <= this.#now())
      await (entry.asking ??= this.#ask(reviewer, session, entry).finally(() => {
        entry.asking = undefined;
      }));
    return entry.rights;
  }

  async #ask(reviewer: Reviewer, session: UserSession, entry: UserRights): Promise<void> {
    try {
      entry.rights = new Set(await reviewer.rights(session, AbortSignal.timeout(REVIEW_MS)));
      entry.next = this.#now() + RIGHTS_MS;
    } catch (error) {
      entry.next = this.#now() + RETRY_MS;
      this.#options.log(
        `asking the cluster for the rights of ${session.user} failed, so the last ones count: ${errorText(error)}`,
        { level: 'warning' },
      );
    }
  }

  #keep(key: string, known: UserRights): void {
    this.#known.delete(key);
    if (this.#known.size >= MAX_USERS) this.#known.delete(this.#known.keys().next().value ?? '');
    this.#known.set(key, known);
  }

  close(): void {
    this.#options.reviewer?.close();
  }
}

/** The same user with other groups may have other rights. */
function keyOf({ user, uid, groups, extra }: ClusterUser): string {
  return sha256Hex(JSON.stringify([user, uid, groups, extra]));
}

function mayNotAsk(cause: StudioError): StudioError {
  return new StudioError('unsupported', 'The server may not ask its cluster who users are, and what they may do.', {
    hint:
      'An administrator of the cluster can apply the ClusterRoleBinding and the RoleBinding that rollout cluster ' +
      'render prints.',
    cause,
  });
}

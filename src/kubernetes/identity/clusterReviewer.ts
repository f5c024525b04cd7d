/**
 * Asks the API server who somebody is (TokenReview) and what somebody may do (SubjectAccessReview), reads the authority
 * that it verifies client certificates with, and publishes the server's own, by which clients know the server before
 * they show it a credential.
 */
import type { V1SubjectAccessReview, V1TokenReview } from '@kubernetes/client-node';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { ACCESS_GROUP, ACCESS_RESOURCE, RIGHT_VERBS, RIGHTS, type Right } from '../../protocol/access.ts';
import type { Reviewer } from '../../server/access/logins.ts';
import type { ClusterUser } from '../../server/access/userSession.ts';
import type { Cluster } from '../access/cluster.ts';
import { modelOf } from '../access/objects.ts';
import { object } from '../install/manifests/object.ts';
import { CLIENT_AUTHORITY, NAMES } from '../names.ts';
import { OWN_KEYS } from '../tls/authority.ts';

/** Key of the ConfigMap with the authorities of client certificates. */
const CLIENT_KEY = 'client-ca-file';
const POLL_MS = 30_000;
const READ_MS = 10_000;

export interface ReviewerOptions {
  readonly cluster: Cluster;
  /** The certificate (PEM) of the authority that signs the server's. */
  readonly authority: string | undefined;
  readonly log: Log;
  readonly pollMs?: number;
}

export class ClusterReviewer implements Reviewer {
  readonly namespace: string;
  readonly #options: ReviewerOptions;
  readonly #end = new AbortController();
  readonly #watching = new Set<() => void>();
  #clientAuthority: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Reported troubles, so that each is logged once. */
  readonly #troubles = new Map<string, string>();

  constructor(options: ReviewerOptions) {
    this.#options = options;
    this.namespace = options.cluster.namespace;
    void this.#poll();
  }

  async authenticate(token: string, signal: AbortSignal): Promise<ClusterUser | undefined> {
    const { cluster } = this.#options;
    const { AuthenticationV1Api } = cluster.connection.library;
    const body = modelOf<V1TokenReview>({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token },
    });
    const { status } = await cluster.call(
      { verb: 'create', resource: 'tokenreviews', group: 'authentication.k8s.io' },
      { signal },
      (configuration) => new AuthenticationV1Api(configuration).createTokenReview({ body }),
    );
    const user = status?.user;
    if (status?.authenticated !== true || user?.username === undefined || user.username === '') return undefined;
    const { username, uid, groups, extra } = user;
    return {
      user: username,
      groups: groups ?? [],
      ...(uid === undefined || uid === '' ? {} : { uid }),
      ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
    };
  }

  async rights(user: ClusterUser, signal: AbortSignal): Promise<readonly Right[]> {
    const allowed = await Promise.all(RIGHTS.map((right) => this.#mayDo(user, right, signal)));
    return allowed[RIGHTS.indexOf('administer')] === true ? RIGHTS : RIGHTS.filter((_, index) => allowed[index]);
  }

  async #mayDo({ user, uid, groups, extra }: ClusterUser, right: Right, signal: AbortSignal): Promise<boolean> {
    const { cluster } = this.#options;
    const { AuthorizationV1Api } = cluster.connection.library;
    const body = modelOf<V1SubjectAccessReview>({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user,
        groups,
        ...(uid === undefined ? {} : { uid }),
        ...(extra === undefined ? {} : { extra }),
        resourceAttributes: {
          namespace: this.namespace,
          group: ACCESS_GROUP,
          resource: ACCESS_RESOURCE,
          verb: RIGHT_VERBS[right],
        },
      },
    });
    const { status } = await cluster.call(
      { verb: 'create', resource: 'subjectaccessreviews', group: 'authorization.k8s.io' },
      { signal },
      (configuration) => new AuthorizationV1Api(configuration).createSubjectAccessReview({ body }),
    );
    return status?.allowed === true;
  }

  clientAuthority(): string | undefined {
    return this.#clientAuthority;
  }

  watchClientAuthority(changed: () => void): () => void {
    this.#watching.add(changed);
    return () => this.#watching.delete(changed);
  }

  close(): void {
    this.#end.abort();
    clearTimeout(this.#timer);
  }

  async #poll(): Promise<void> {
    await this.#attempt('Users with client certificates cannot log in', () => this.#readClientAuthority());
    await this.#attempt('Users cannot find out how to verify the server, so they cannot log in', () => this.#publish());
    if (this.#end.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#poll(), this.#options.pollMs ?? POLL_MS);
    this.#timer.unref();
  }

  async #readClientAuthority(): Promise<void> {
    const { name, namespace } = CLIENT_AUTHORITY;
    const signal = this.#limit();
    const map = await this.#options.cluster.get('ConfigMap', name, { namespace, signal });
    const found = map?.data?.[CLIENT_KEY];
    if (found !== this.#clientAuthority) {
      this.#clientAuthority = found;
      for (const changed of this.#watching) changed();
    }
    if (found === undefined)
      throw new StudioError('not_found', `The cluster has no ${CLIENT_KEY} in the ConfigMap ${namespace}/${name}.`);
  }

  /** Writes the ConfigMap for clients, unless it is there. */
  async #publish(): Promise<void> {
    const { cluster, authority } = this.#options;
    if (authority === undefined) return;
    const signal = this.#limit();
    const there = await cluster.get('ConfigMap', NAMES.authority, { signal });
    if (there?.data?.[OWN_KEYS.cert] === authority) return;
    const place = { namespace: this.namespace, component: 'server' } as const;
    await cluster.apply(object('ConfigMap', NAMES.authority, place, { data: { [OWN_KEYS.cert]: authority } }), {
      signal,
    });
  }

  async #attempt(trouble: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
      this.#troubles.delete(trouble);
    } catch (error) {
      if (this.#end.signal.aborted) return;
      const text = errorText(error);
      if (this.#troubles.get(trouble) !== text) this.#options.log(`${trouble}: ${text}`, { level: 'warning' });
      this.#troubles.set(trouble, text);
    }
  }

  #limit(): AbortSignal {
    return AbortSignal.any([this.#end.signal, AbortSignal.timeout(READ_MS)]);
  }
}

/**
 * Users whom a proxy in front of the server has authenticated, such as oauth2-proxy or Pomerium. It names them in
 * headers, as the front proxy of a Kubernetes API server does, and anybody can send headers: they count only together
 * with a proof, which is a client certificate of the proxy or a secret that it shares with the server. Without one they
 * are ignored. With one, whatever could have another meaning for the proxy than for the server is refused.
 */
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { StudioError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { certificatesIn, fingerprints, isIssuedBy } from './certificateChain.ts';
import { AUTHENTICATED } from './clientCertificate.ts';
import { same } from './tokens.ts';
import type { ClusterUser } from './userSession.ts';

/** Header with the secret that the proxy and the server share. */
export const SECRET_HEADER = 'x-rollout-proxy-secret';

export interface IdentityHeaders {
  readonly user: string;
  readonly groups?: string;
  /** In front of the names that the proxy sends. */
  readonly userPrefix: string;
  readonly groupsPrefix: string;
}

/** How a proxy proves itself. What a function returns may change: Secrets are rotated. */
export type ProxyProof =
  /** A client certificate of this authority (PEM) with one of these names (CN). */
  | { readonly kind: 'certificate'; readonly authority: () => string; readonly names: readonly string[] }
  | { readonly kind: 'secret'; readonly secret: () => string };

export interface ProxyIdentityOptions {
  readonly headers: IdentityHeaders;
  readonly proof: ProxyProof;
  readonly log: Log;
  /** Calls back when the authority changes. Returns the function that ends this. */
  readonly watch?: (changed: () => void) => () => void;
}

const MAX_NAME = 512;
const MAX_GROUPS = 2_000;
/** Names of the cluster's own components, which no proxy may claim: some of them have all rights. */
const RESERVED = 'system:';
const LOG_EVERY_MS = 60_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be in a name
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f]/;

export class ProxyIdentity {
  readonly #options: ProxyIdentityOptions;
  readonly #logged = new Map<string, number>();

  constructor(options: ProxyIdentityOptions) {
    this.#options = options;
  }

  /** The authority (PEM) of client certificates of proxies. undefined: they prove themselves otherwise. */
  authority(): string | undefined {
    const { proof } = this.#options;
    return proof.kind === 'certificate' ? proof.authority() : undefined;
  }

  watch(changed: () => void): () => void {
    return this.#options.watch?.(changed) ?? (() => undefined);
  }

  /** Whether a request has headers that name a user, whoever sent them. */
  names(request: IncomingMessage): boolean {
    return this.#values(request, this.#options.headers.user).all.length > 0;
  }

  /**
   * Returns the user whom the proxy names; undefined without one, or without a proof. `clients`: the authority of the
   * cluster for its users. Throws `forbidden` for headers of a proxy that are ambiguous, or that name what no proxy may
   * name, and for requests that a page of another site made.
   */
  user(request: IncomingMessage, clients: string | undefined): ClusterUser | undefined {
    const { headers } = this.#options;
    const user = this.#values(request, headers.user);
    if (user.all.length === 0) return undefined;
    const doubt = this.#doubt(request, clients);
    if (doubt !== undefined) {
      this.#warn(`identity headers were ignored: ${doubt}`);
      return undefined;
    }
    const groups = headers.groups === undefined ? undefined : this.#values(request, headers.groups);
    const name = this.#single(headers.user, user);
    const list = groups === undefined || groups.all.length === 0 ? '' : this.#single(headers.groups ?? '', groups);
    if (name === '') return undefined;
    requireSameSite(request);
    const named = list.split(',').flatMap((text) => (text.trim() === '' ? [] : [headers.groupsPrefix + text.trim()]));
    if (named.length > MAX_GROUPS) throw this.#refused(`more than ${MAX_GROUPS} groups`);
    const claimed = [headers.userPrefix + name, ...named];
    const reserved = claimed.find((text) => text.startsWith(RESERVED));
    if (reserved !== undefined) throw this.#refused(`${reserved.slice(0, 100)} is a name of the cluster itself`);
    return { user: headers.userPrefix + name, groups: [...new Set([...named, AUTHENTICATED])] };
  }

  /** Returns why a request is not proven to come from the proxy. */
  #doubt(request: IncomingMessage, clients: string | undefined): string | undefined {
    const { proof } = this.#options;
    if (proof.kind === 'secret') {
      const { exact } = this.#values(request, SECRET_HEADER);
      const [sent, ...more] = exact;
      if (sent === undefined) return `the request has no ${SECRET_HEADER}`;
      return more.length === 0 && same(sent, proof.secret()) ? undefined : `its ${SECRET_HEADER} is wrong`;
    }
    const { socket } = request;
    if (!(socket instanceof TLSSocket)) return 'the connection has no TLS, and so no client certificate';
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return 'the connection has no client certificate';
    const authorities = certificatesIn(proof.authority());
    const known = fingerprints(clients ?? '');
    // Otherwise whoever gets a certificate of the cluster with such a name would be the proxy.
    if (authorities.some(({ fingerprint256 }) => known.has(fingerprint256)))
      return 'the authority of the proxy also issues certificates of the cluster’s users';
    if (!socket.authorized || !isIssuedBy(certificate, authorities))
      return 'another authority issued the client certificate';
    if (!(Date.parse(certificate.validTo) > Date.now())) return 'the client certificate has expired';
    const { CN: name } = (socket.getPeerCertificate() as { subject?: { CN?: string | string[] } }).subject ?? {};
    return typeof name === 'string' && proof.names.includes(name)
      ? undefined
      : `the client certificate is for ${JSON.stringify(name ?? '').slice(0, 100)}`;
  }

  /** Returns the values of a header, and those of headers that other programs could take for it. */
  #values({ rawHeaders }: IncomingMessage, header: string): { readonly exact: string[]; readonly all: string[] } {
    const name = header.toLowerCase();
    const exact: string[] = [];
    const all: string[] = [];
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const sent = (rawHeaders[at] ?? '').toLowerCase();
      const value = rawHeaders[at + 1] ?? '';
      if (sent === name) exact.push(value);
      if (sent === name || sent.replaceAll('_', '-') === name) all.push(value);
    }
    return { exact, all };
  }

  #single(header: string, { exact, all }: { readonly exact: string[]; readonly all: string[] }): string {
    if (all.length !== 1 || exact.length !== 1)
      throw this.#refused(`${header} is there ${all.length} times, or with an underscore`);
    const text = utf8(exact[0] ?? '')?.trim();
    if (text === undefined || UNPRINTABLE.test(text)) throw this.#refused(`${header} is not readable text`);
    if (text.length > MAX_NAME * (header === this.#options.headers.user ? 1 : MAX_GROUPS))
      throw this.#refused(`${header} is too long`);
    return text;
  }

  #refused(why: string): StudioError {
    this.#warn(`a request of the proxy was refused: ${why}`);
    return new StudioError('forbidden', `The identity headers of the proxy are not accepted: ${why}.`, {
      hint: 'The proxy must remove headers of these names from what it receives, and set each once.',
    });
  }

  /** Logs each text at most once a minute: anybody can cause it. */
  #warn(text: string): void {
    const now = Date.now();
    if (now - (this.#logged.get(text) ?? 0) < LOG_EVERY_MS) return;
    if (this.#logged.size > 100) this.#logged.clear();
    this.#logged.set(text, now);
    this.#options.log(text, { level: 'warning' });
  }
}

/**
 * Browsers send the proxy’s cookie with whatever a page of another site requests. Such a page cannot read the response,
 * but must not change anything either.
 */
function requireSameSite({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  const origin = headers.origin;
  if ((site === undefined || site === 'same-origin' || site === 'none') && origin?.startsWith('http://') !== true)
    return;
  throw new StudioError('forbidden', 'Pages of other sites may not call this server.');
}

/** Headers are bytes, which Node reads as Latin-1. */
function utf8(value: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'));
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

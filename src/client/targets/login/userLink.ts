/** Keeps access to a server at a URL as a user of its cluster: a session, which is renewed before it ends. */
import { abortable } from '../../../common/abort.ts';
import { StudioError } from '../../../common/errors.ts';
import { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { ServerAddress, Transport } from '../../../protocol/transport.ts';
import { nodeTransport } from '../../nodeTransport.ts';
import { retryTransport } from '../../retryTransport.ts';
import { askServer } from '../askServer.ts';
import type { UserTarget } from '../target.ts';
import { sessionTransport } from './sessionTransport.ts';
import { logInAt, type UrlPlace } from './urlLogin.ts';

/** A session is renewed when less than this is left of it. */
const RENEW_MS = 10 * 60_000;
const RETRY_MS = 30_000;

interface Session {
  readonly full: string;
  readonly read: string;
  readonly until: number;
}

export class UserLink {
  readonly #name: string;
  readonly #target: UserTarget;
  readonly #place: UrlPlace;
  readonly #end = new AbortController();
  #reaching: Promise<void> | undefined;
  #cluster: Cluster | undefined;
  #session: Session | undefined;
  #renewal: NodeJS.Timeout | undefined;

  /** `ca`: the content of the target's file, if it has one. */
  constructor(name: string, target: UserTarget, ca: string | undefined) {
    this.#name = name;
    this.#target = target;
    this.#place = { url: target.url, ...(ca === undefined ? {} : { ca }) };
  }

  address(which: 'full' | 'read'): ServerAddress {
    return { ...this.#place, token: this.#session?.[which] ?? '' };
  }

  transport(): Required<Transport> {
    const plain = retryTransport(nodeTransport(() => this.address('full')));
    return sessionTransport(plain, {
      hasEnded: () => this.#session !== undefined && this.#session.until <= Date.now(),
      hasSession: () => this.#session !== undefined,
      reach: (signal) => this.reach(signal),
      forget: () => {
        this.#session = undefined;
      },
    });
  }

  /** Ensures that there is a session and that the server responds. Concurrent calls share one check. */
  reach(signal: AbortSignal = this.#end.signal): Promise<void> {
    this.#reaching ??= this.#reach(this.#end.signal).finally(() => {
      this.#reaching = undefined;
    });
    return abortable(this.#reaching, signal);
  }

  close(): void {
    clearTimeout(this.#renewal);
    this.#end.abort();
    this.#cluster?.close();
  }

  async #reach(signal: AbortSignal): Promise<void> {
    await this.#authorize(signal);
    try {
      await this.#ask(signal);
    } catch (error) {
      if (!StudioError.is(error, 'unauthorized')) throw error;
      // A reinstalled server does not know sessions of the previous one.
      this.#session = undefined;
      await this.#authorize(signal);
      await this.#ask(signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const hints = {
      update: `Ask the operator of target ${this.#name} to update its server.`,
      token: 'Log in to the cluster again (kubectl must work with this context).',
    };
    await askServer(this.address('full'), hints, signal);
  }

  async #authorize(signal: AbortSignal): Promise<void> {
    const until = this.#session?.until ?? 0;
    if (until > Date.now() + RENEW_MS) return;
    const { context, kubeconfig } = this.#target;
    try {
      this.#cluster ??= await Cluster.open({ context, ...(kubeconfig === undefined ? {} : { kubeconfig }) });
      const { token, read_token: read, expires_in_ms: ms } = await logInAt(this.#place, this.#cluster, signal);
      this.#session = { full: token, read, until: Date.now() + ms };
      this.#renewLater(ms - RENEW_MS);
    } catch (error) {
      // While the cluster or its plug-in does not answer, the session goes on.
      if (signal.aborted || !StudioError.is(error) || until <= Date.now()) throw error;
      this.#renewLater(RETRY_MS);
    }
  }

  #renewLater(ms: number): void {
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => void this.reach().catch(() => this.#renewLater(RETRY_MS)), ms);
    this.#renewal.unref();
  }
}

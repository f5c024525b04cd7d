/** Keeps access to a server at a URL as a user of its cluster: a session, which is renewed before it ends. */
import { StudioError } from '../../../common/errors.ts';
import { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { ServerAddress, Transport } from '../../../protocol/transport.ts';
import { nodeTransport } from '../../nodeTransport.ts';
import { retryTransport } from '../../retryTransport.ts';
import { askServer } from '../askServer.ts';
import type { UserTarget } from '../target.ts';
import { isFresh, Reaching } from './reaching.ts';
import { sessionTransport } from './sessionTransport.ts';
import { logInAt, type UrlPlace } from './urlLogin.ts';

interface Session {
  readonly full: string;
  readonly read: string;
  readonly until: number;
}

export class UserLink {
  readonly #name: string;
  readonly #target: UserTarget;
  readonly #place: UrlPlace;
  readonly #reaching = new Reaching((signal) => this.#reach(signal));
  #cluster: Cluster | undefined;
  #session: Session | undefined;

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
      until: () => this.#session?.until,
      reach: (signal) => this.reach(signal),
      forget: () => {
        this.#session = undefined;
      },
    });
  }

  /** Ensures that there is a session and that the server responds. Concurrent calls share one check. */
  reach(signal?: AbortSignal): Promise<void> {
    return this.#reaching.reach(signal);
  }

  close(): void {
    this.#reaching.close();
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
    if (isFresh(until)) return;
    const { context, kubeconfig } = this.#target;
    try {
      this.#cluster ??= await Cluster.open({ context, ...(kubeconfig === undefined ? {} : { kubeconfig }) });
      const { token, read_token: read, expires_in_ms: ms } = await logInAt(this.#place, this.#cluster, signal);
      this.#session = { full: token, read, until: Date.now() + ms };
      this.#reaching.renew(ms);
    } catch (error) {
      // While the cluster or its plug-in does not answer, the session goes on.
      if (signal.aborted || !StudioError.is(error) || until <= Date.now()) throw error;
      this.#reaching.retry();
    }
  }
}

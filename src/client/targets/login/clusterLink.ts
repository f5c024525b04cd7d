/** Keeps access to a server in a cluster: a port forward to its pod, and a session of the user or tokens. */
import { sleep } from '../../../common/abort.ts';
import { StudioError } from '../../../common/errors.ts';
import { Cluster } from '../../../kubernetes/access/cluster.ts';
import { openForward } from '../../../kubernetes/access/portForward.ts';
import type { ServerAddress, Transport } from '../../../protocol/transport.ts';
import { nodeTransport } from '../../nodeTransport.ts';
import { retryTransport } from '../../retryTransport.ts';
import { askServer } from '../askServer.ts';
import { type ClientTokens, findServerPod, type ServerPod, serverTokens } from '../serverPod.ts';
import { type ClusterTarget, clusterRef } from '../target.ts';
import { logIn } from './clusterLogin.ts';
import { isFresh, Reaching } from './reaching.ts';
import { sessionTransport } from './sessionTransport.ts';

type Forward = Awaited<ReturnType<typeof openForward>>;

/** How long to wait for a ready pod before failing with the reason. */
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 500;

/** Tokens of the server, and until when they are valid; without end, those of its Secret. */
interface Access extends ClientTokens {
  readonly until?: number;
}

/**
 * Keeps a port forward to a cluster's server, and access to it: a session of the user, renewed before its end, or the
 * tokens of the Secret where no login is possible.
 */
export class ClusterLink {
  readonly #name: string;
  readonly #target: ClusterTarget;
  readonly #onNotice: ((text: string) => void) | undefined;
  readonly #reaching = new Reaching((signal) => this.#reach(signal));
  #cluster: Cluster | undefined;
  #forward: { readonly forward: Forward; readonly port: number } | undefined;
  #access: Access | undefined;

  constructor(name: string, target: ClusterTarget, { onNotice }: { readonly onNotice?: (text: string) => void }) {
    this.#name = name;
    this.#target = target;
    this.#onNotice = onNotice;
  }

  address(which: keyof ClientTokens): ServerAddress {
    if (this.#forward === undefined) throw new StudioError('unavailable', `Not connected to target ${this.#name}.`);
    return { url: this.#forward.forward.url, token: this.#access?.[which] ?? '' };
  }

  transport(): Transport {
    const plain = retryTransport(nodeTransport(() => this.address('full')));
    return sessionTransport(plain, {
      until: () => this.#access?.until,
      reach: (signal) => this.reach(signal),
      forget: () => {
        this.#access = undefined;
      },
    });
  }

  /** Ensures that the server responds. Concurrent calls share one check. */
  reach(signal?: AbortSignal): Promise<void> {
    return this.#reaching.reach(signal);
  }

  close(): void {
    this.#reaching.close();
    this.#forward?.forward.close();
    this.#cluster?.close();
  }

  async #reach(signal: AbortSignal): Promise<void> {
    this.#cluster ??= await Cluster.open(clusterRef(this.#name, this.#target));
    const cluster = this.#cluster;
    const deadline = performance.now() + START_TIMEOUT_MS;
    for (let reported = ''; ; ) {
      const pod = await findServerPod(cluster, signal);
      if ('name' in pod) return this.#connect(cluster, pod, signal);
      if (pod.unresponsive !== undefined && (await this.#tryConnect(cluster, pod.unresponsive, signal))) return;
      if (pod.stuck || performance.now() > deadline)
        throw new StudioError('unavailable', `The server of target ${this.#name} is not ready: ${pod.why}`, {
          hint: pod.hint ?? `For details, run rollout target status ${this.#name}.`,
        });
      if (reported !== pod.why) this.#onNotice?.(`Waiting for the server of target ${this.#name}: ${pod.why}`);
      reported = pod.why;
      await sleep(POLL_MS, signal);
    }
  }

  /** Returns whether the server responds although its node does not. */
  async #tryConnect(cluster: Cluster, pod: ServerPod, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#connect(cluster, pod, signal);
      return true;
    } catch (error) {
      if (StudioError.is(error, 'unavailable')) return false;
      throw error;
    }
  }

  /** Ensures that there is a port forward to the pod and that a rollout server responds. */
  async #connect(cluster: Cluster, pod: ServerPod, signal: AbortSignal): Promise<void> {
    const { port } = pod;
    await this.#authorize(cluster, pod, signal);
    if (this.#forward?.port !== port) {
      this.#forward?.forward.close();
      this.#forward = undefined;
      // No notices here, because followers already report lost pods.
      const forward = await openForward(cluster, (stop) => this.#podNow(cluster, stop), port, { signal });
      this.#forward = { forward, port };
    }
    try {
      await this.#ask(signal);
    } catch (error) {
      if (!StudioError.is(error, 'unauthorized') || this.#access?.until === undefined) throw error;
      // A reinstalled server does not know sessions of the previous one.
      this.#access = undefined;
      await this.#authorize(cluster, pod, signal);
      await this.#ask(signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    await askServer(
      this.address('full'),
      {
        update: `Upgrade the server with rollout cluster upgrade --target ${this.#name}.`,
        token: 'The token may be outdated. A reinstalled server accepts its new tokens within a minute.',
      },
      signal,
    );
  }

  /** Gets access, unless it lasts: by a login, or with the tokens of the Secret. */
  async #authorize(cluster: Cluster, pod: ServerPod, signal: AbortSignal): Promise<void> {
    const { until = 0 } = this.#access ?? {};
    if (isFresh(until)) return;
    try {
      const session = await logIn(cluster, pod, signal);
      this.#access = { full: session.token, read: session.read_token, until: Date.now() + session.expires_in_ms };
      this.#reaching.renew(session.expires_in_ms);
    } catch (error) {
      if (signal.aborted || !StudioError.is(error)) throw error;
      // An outage of the cluster ends no session.
      if (until > Date.now()) this.#reaching.retry();
      else this.#access = await tokensInstead(cluster, pod, error, signal);
    }
  }

  /**
   * Returns the current pod for one forwarded connection. Fails at once if no pod is ready, because clients retry.
   */
  async #podNow(cluster: Cluster, signal: AbortSignal | undefined): Promise<string> {
    const pod = await findServerPod(cluster, signal);
    if ('name' in pod) return pod.name;
    if (pod.unresponsive !== undefined) return pod.unresponsive.name;
    throw new StudioError('unavailable', `The server of target ${this.#name} is not ready: ${pod.why}`);
  }
}

/** Reads the tokens in the Secret, as whoever may read it can. Otherwise the login failed, and says why. */
async function tokensInstead(
  cluster: Cluster,
  pod: ServerPod,
  login: StudioError,
  signal: AbortSignal,
): Promise<ClientTokens> {
  try {
    return await serverTokens(cluster, signal, pod.tokens);
  } catch (error) {
    // Without any right to it, the Secret is not the user's way in.
    throw StudioError.is(error, 'forbidden') ? login : error;
  }
}

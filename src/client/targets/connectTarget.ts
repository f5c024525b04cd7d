/**
 * Connects to the server of a target: in a cluster through a port forward, or at a URL. Does not start servers.
 */
import { abortable, sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { Cluster } from '../../kubernetes/access/cluster.ts';
import { openForward } from '../../kubernetes/access/portForward.ts';
import { bindCommand } from '../../protocol/access.ts';
import { Api } from '../../protocol/api.ts';
import type { ServerAddress, Transport } from '../../protocol/transport.ts';
import type { Connection } from '../connect.ts';
import { nodeTransport } from '../nodeTransport.ts';
import { retryTransport, wasCut } from '../retryTransport.ts';
import { placed } from '../text/placed.ts';
import { certificatesOf, newToken, noReadToken, noToken } from './addressTokens.ts';
import { askServer } from './askServer.ts';
import { logIn } from './login/clusterLogin.ts';
import { sessionTransport } from './login/sessionTransport.ts';
import { UserLink } from './login/userLink.ts';
import { type ClientTokens, findServerPod, type ServerPod, serverTokens } from './serverPod.ts';
import { type ClusterTarget, clusterRef, type Target, type UrlTarget, type UserTarget } from './target.ts';
import { explainUnreachable } from './unreachable.ts';

export interface TargetConnection extends Connection {
  /** Closes the connection. The server keeps running. */
  close(): void;
}

interface TargetOptions {
  /** Environment variables with the tokens of URL targets. */
  readonly env: NodeJS.ProcessEnv;
  /** Aborts connecting. */
  readonly signal?: AbortSignal;
  /** Called with the reason for a wait. */
  readonly onNotice?: (text: string) => void;
}

/** How long to wait for a ready pod before failing with the reason. */
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 500;
/** How long connections are cut before that is reported. */
const QUIET_MS = 5_000;

/** Connects to the server of a target. */
export function connectTarget(name: string, target: Target, options: TargetOptions): Promise<TargetConnection> {
  if ('token_env' in target) return connectUrl(name, target, options);
  return 'url' in target ? connectAsUser(name, target, options) : connectCluster(name, target, options);
}

async function connectUrl(
  name: string,
  target: UrlTarget,
  { env, signal, onNotice }: TargetOptions,
): Promise<TargetConnection> {
  const token = env[target.token_env] ?? '';
  if (token === '') throw noToken(name, target);
  const ca = await certificatesOf(target);
  const addressWith = (value: string): ServerAddress => ({
    url: target.url,
    token: value,
    ...(ca === undefined ? {} : { ca }),
  });
  const address = addressWith(token);
  const check = async (stop?: AbortSignal): Promise<void> => {
    await askServer(
      address,
      { update: `Ask the operator of target ${name} to update its server.`, token: newToken(name, target) },
      stop,
    );
  };
  await check(signal);
  const notices = new FailureNotices(onNotice);
  return {
    api: new Api(explainUnreachable(retryTransport(nodeTransport(() => address)), address)),
    address: () => address,
    readAddress: () => {
      const read = env[target.read_token_env ?? ''] ?? '';
      if (read === '') throw noReadToken(name, target);
      return addressWith(read);
    },
    reconnect: (stop) => notices.watch(check(stop)),
    placed: (text) => placed(text, name, target),
    close: () => undefined,
  };
}

/** A server at a URL, to which the user logs in with the kubeconfig. */
async function connectAsUser(
  name: string,
  target: UserTarget,
  { signal, onNotice }: TargetOptions,
): Promise<TargetConnection> {
  const link = new UserLink(name, target, await certificatesOf(target));
  try {
    await link.reach(signal);
  } catch (error) {
    link.close();
    throw error;
  }
  const notices = new FailureNotices(onNotice);
  return {
    api: new Api(explainUnreachable(link.transport(), link.address('full'))),
    address: () => link.address('full'),
    readAddress: () => link.address('read'),
    reconnect: (stop) => notices.watch(link.reach(stop)),
    placed: (text) => placed(text, name, target),
    close: () => link.close(),
  };
}

/**
 * Reports why reconnecting fails, once connections were cut for a while: each reason once, until the server is
 * reachable again.
 */
class FailureNotices {
  readonly #notify: TargetOptions['onNotice'];
  #last = '';
  #since: number | undefined;

  constructor(notify: TargetOptions['onNotice']) {
    this.#notify = notify;
  }

  async watch(attempt: Promise<void>): Promise<void> {
    try {
      await attempt;
      this.#last = '';
      this.#since = undefined;
    } catch (error) {
      const text = StudioError.is(error, 'unavailable') ? errorText(error) : '';
      this.#since ??= performance.now();
      // Connections that drop for a moment are not worth a message.
      if (wasCut(error) && performance.now() - this.#since < QUIET_MS) throw error;
      if (text !== '' && text !== this.#last) this.#notify?.(text);
      this.#last = text;
      throw error;
    }
  }
}

async function connectCluster(name: string, target: ClusterTarget, options: TargetOptions): Promise<TargetConnection> {
  const link = new ClusterLink(name, target, options);
  try {
    await link.reach(options.signal);
  } catch (error) {
    link.close();
    throw withRole(error);
  }
  return {
    api: new Api(link.transport()),
    address: () => link.address('full'),
    readAddress: () => link.address('read'),
    reconnect: (signal) => link.reach(signal),
    placed: (text) => placed(text, name, target),
    close: () => link.close(),
  };
}

type Forward = Awaited<ReturnType<typeof openForward>>;

/** A session is renewed when less than this is left of it. */
const RENEW_MS = 10 * 60_000;
const RETRY_MS = 30_000;

/** Tokens of the server, and until when they are valid; without end, those of its Secret. */
interface Access extends ClientTokens {
  readonly until?: number;
}

/**
 * Keeps a port forward to a cluster's server, and access to it: a session of the user, renewed before its end, or the
 * tokens of the Secret where no login is possible.
 */
class ClusterLink {
  readonly #name: string;
  readonly #target: ClusterTarget;
  readonly #onNotice: ((text: string) => void) | undefined;
  readonly #end = new AbortController();
  #reaching: Promise<void> | undefined;
  #cluster: Cluster | undefined;
  #forward: { readonly forward: Forward; readonly port: number } | undefined;
  #access: Access | undefined;
  #renewal: NodeJS.Timeout | undefined;

  constructor(name: string, target: ClusterTarget, { onNotice }: TargetOptions) {
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
      hasEnded: () => this.#access?.until !== undefined && this.#access.until <= Date.now(),
      hasSession: () => this.#access?.until !== undefined,
      reach: (signal) => this.reach(signal),
      forget: () => {
        this.#access = undefined;
      },
    });
  }

  /** Ensures that the server responds. Concurrent calls share one check. */
  reach(signal: AbortSignal = this.#end.signal): Promise<void> {
    this.#reaching ??= this.#reach(this.#end.signal).finally(() => {
      this.#reaching = undefined;
    });
    return abortable(this.#reaching, signal);
  }

  close(): void {
    clearTimeout(this.#renewal);
    this.#end.abort();
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
    if (until > Date.now() + RENEW_MS) return;
    try {
      const session = await logIn(cluster, pod, signal);
      this.#access = { full: session.token, read: session.read_token, until: Date.now() + session.expires_in_ms };
      this.#renewLater(session.expires_in_ms - RENEW_MS);
    } catch (error) {
      if (signal.aborted || !StudioError.is(error)) throw error;
      // An outage of the cluster ends no session.
      if (until > Date.now()) this.#renewLater(RETRY_MS);
      else this.#access = await tokensInstead(cluster, pod, error, signal);
    }
  }

  #renewLater(ms: number): void {
    clearTimeout(this.#renewal);
    this.#renewal = setTimeout(() => void this.reach().catch(() => this.#renewLater(RETRY_MS)), ms);
    this.#renewal.unref();
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

/** Whoever may not even find or reach the server lacks a Role: says which command of an administrator grants one. */
function withRole(error: unknown): unknown {
  if (!StudioError.is(error, 'forbidden')) return error;
  const namespace = error.details?.['namespace'];
  if (typeof namespace !== 'string') return error;
  const user = /^The account (\S+) may not /.exec(error.message)?.[1] ?? 'NAME';
  return new StudioError('forbidden', error.message, {
    hint: `An administrator of the cluster can let you use the server: ${bindCommand(user, 'user', namespace)}`,
    cause: error,
  });
}

/**
 * `connect` for targets: the server of a cluster through a port-forward, or one at an address. Neither is started here.
 */
import { abortable, sleep } from '../../common/abort.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { Cluster } from '../../kubernetes/access/cluster.ts';
import { openForward } from '../../kubernetes/access/portForward.ts';
import { Api } from '../../protocol/api.ts';
import type { ServerAddress } from '../../protocol/transport.ts';
import type { Connection } from '../connect.ts';
import { nodeTransport } from '../nodeTransport.ts';
import { certificatesOf, newToken, noReadToken, noToken } from './addressTokens.ts';
import { askServer } from './askServer.ts';
import { type ClientTokens, findServerPod, type ServerPod, serverTokens } from './serverPod.ts';
import { type ClusterTarget, clusterRef, type Target, type UrlTarget } from './target.ts';
import { tellingWhy } from './unreachable.ts';

export interface TargetConnection extends Connection {
  /** Ends what it keeps open on this machine; the server goes on. */
  close(): void;
}

export interface TargetOptions {
  /** Where the tokens of addresses are. */
  readonly env: NodeJS.ProcessEnv;
  /** Ends the attempt to connect. */
  readonly signal?: AbortSignal;
  /** Told when the wait has a reason a person should know. */
  readonly onNotice?: (text: string) => void;
}

/** A pod that takes requests is there within this time, or the reason is told. */
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 500;

/** Connects to the server of a target. */
export function connectTarget(name: string, target: Target, options: TargetOptions): Promise<TargetConnection> {
  return 'url' in target ? connectUrl(name, target, options) : connectCluster(name, target, options);
}

async function connectUrl(
  name: string,
  target: UrlTarget,
  { env, signal, onNotice }: TargetOptions,
): Promise<TargetConnection> {
  const token = env[target.token_env] ?? '';
  if (token === '') throw noToken(name, target);
  const ca = await certificatesOf(target);
  const at = (given: string): ServerAddress => ({ url: target.url, token: given, ...(ca === undefined ? {} : { ca }) });
  const address = at(token);
  const check = async (stop?: AbortSignal): Promise<void> => {
    await askServer(
      address,
      { update: `Ask whoever runs the server of the target ${name} to update it.`, token: newToken(name, target) },
      stop,
    );
  };
  await check(signal);
  const reasons = new Reasons(onNotice);
  return {
    api: new Api(
      tellingWhy(
        nodeTransport(() => address),
        address,
      ),
    ),
    address: () => address,
    readAddress: () => {
      const read = env[target.read_token_env ?? ''] ?? '';
      if (read === '') throw noReadToken(name, target);
      return at(read);
    },
    reconnect: (stop) => reasons.told(check(stop)),
    close: () => undefined,
  };
}

/** Tells why a server is not reached again: each reason once, until it is reached. */
class Reasons {
  readonly #tell: TargetOptions['onNotice'];
  #last = '';

  constructor(tell: TargetOptions['onNotice']) {
    this.#tell = tell;
  }

  async told(attempt: Promise<void>): Promise<void> {
    try {
      await attempt;
      this.#last = '';
    } catch (error) {
      const text = StudioError.is(error, 'unavailable') ? errorText(error) : '';
      if (text !== '' && text !== this.#last) this.#tell?.(text);
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
    throw error;
  }
  return {
    api: new Api(nodeTransport(() => link.address('full'))),
    address: () => link.address('full'),
    readAddress: () => link.address('read'),
    reconnect: (signal) => link.reach(signal),
    close: () => link.close(),
  };
}

type Forward = Awaited<ReturnType<typeof openForward>>;

/** The forward to a cluster's server and its tokens; found anew by every `reach`. */
class ClusterLink {
  readonly #name: string;
  readonly #target: ClusterTarget;
  readonly #onNotice: ((text: string) => void) | undefined;
  readonly #end = new AbortController();
  #reaching: Promise<void> | undefined;
  #cluster: Cluster | undefined;
  #forward: { readonly forward: Forward; readonly port: number } | undefined;
  #tokens: ClientTokens = { full: '', read: '' };

  constructor(name: string, target: ClusterTarget, { onNotice }: TargetOptions) {
    this.#name = name;
    this.#target = target;
    this.#onNotice = onNotice;
  }

  address(which: keyof ClientTokens): ServerAddress {
    if (this.#forward === undefined)
      throw new StudioError('unavailable', `There is no connection to the target ${this.#name}.`);
    return { url: this.#forward.forward.url, token: this.#tokens[which] };
  }

  /** Makes sure that the server answers. Those who ask at the same time wait for the same. */
  reach(signal: AbortSignal = this.#end.signal): Promise<void> {
    this.#reaching ??= this.#reach(this.#end.signal).finally(() => {
      this.#reaching = undefined;
    });
    return abortable(this.#reaching, signal);
  }

  close(): void {
    this.#end.abort();
    this.#forward?.forward.close();
    this.#cluster?.close();
  }

  async #reach(signal: AbortSignal): Promise<void> {
    this.#cluster ??= await Cluster.open(clusterRef(this.#name, this.#target));
    const cluster = this.#cluster;
    const until = performance.now() + START_TIMEOUT_MS;
    for (let told = ''; ; ) {
      const found = await findServerPod(cluster, signal);
      if ('name' in found) return this.#enter(cluster, found, signal);
      if (found.unheard !== undefined && (await this.#answers(cluster, found.unheard, signal))) return;
      if (found.stuck || performance.now() > until)
        throw new StudioError('unavailable', `The server of the target ${this.#name} is not ready: ${found.why}`, {
          hint: found.hint ?? `rollout target status ${this.#name} shows more.`,
        });
      if (told !== found.why) this.#onNotice?.(`Waiting for the server of the target ${this.#name}: ${found.why}`);
      told = found.why;
      await sleep(POLL_MS, signal);
    }
  }

  /** Whether it does, though its node is not heard of. */
  async #answers(cluster: Cluster, pod: ServerPod, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#enter(cluster, pod, signal);
      return true;
    } catch (error) {
      if (StudioError.is(error, 'unavailable')) return false;
      throw error;
    }
  }

  /** Makes sure that there is a forward to the pod, and that one of our servers answers there. */
  async #enter(cluster: Cluster, { port }: ServerPod, signal: AbortSignal): Promise<void> {
    this.#tokens = await serverTokens(cluster, signal);
    if (this.#forward?.port !== port) {
      this.#forward?.forward.close();
      this.#forward = undefined;
      // What it has to say of lost pods, followers say too.
      const forward = await openForward(cluster, (stop) => this.#podNow(cluster, stop), port, { signal });
      this.#forward = { forward, port };
    }
    await askServer(
      this.address('full'),
      {
        update: `Bring the server of the target to this version: rollout cluster upgrade --target ${this.#name}.`,
        token: 'The token may be an old one; a server that was installed anew takes its tokens within a minute.',
      },
      signal,
    );
  }

  /**
   * For one connection through the forward: that fails at once where no pod takes it, for clients try again by
   * themselves.
   */
  async #podNow(cluster: Cluster, signal: AbortSignal | undefined): Promise<string> {
    const found = await findServerPod(cluster, signal);
    if ('name' in found) return found.name;
    if (found.unheard !== undefined) return found.unheard.name;
    throw new StudioError('unavailable', `The server of the target ${this.#name} is not ready: ${found.why}`);
  }
}

/**
 * Connects to the server of a target: in a cluster through a port forward, or at a URL. Does not start servers.
 */
import { errorText, StudioError } from '../../common/errors.ts';
import { bindCommand } from '../../protocol/access.ts';
import { Api } from '../../protocol/api.ts';
import type { ServerAddress } from '../../protocol/transport.ts';
import type { Connection } from '../connect.ts';
import { nodeTransport } from '../nodeTransport.ts';
import { retryTransport, wasCut } from '../retryTransport.ts';
import { placed } from '../text/placed.ts';
import { certificatesOf, newToken, noReadToken, noToken } from './addressTokens.ts';
import { askServer } from './askServer.ts';
import { ClusterLink } from './login/clusterLink.ts';
import { UserLink } from './login/userLink.ts';
import type { ClusterTarget, Target, UrlTarget, UserTarget } from './target.ts';
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

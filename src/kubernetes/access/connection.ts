/**
 * How requests reach one API server. The API classes of `@kubernetes/client-node` send theirs through
 * `configuration`; a kubeconfig's credentials (exec plug-ins, OIDC, client certificates, proxies) are the library's
 * work as well.
 *
 * The library's own HTTP client is not used. Observed with @kubernetes/client-node 2.0.1 on Node.js 24:
 * - It makes an undici Agent per request: 50 lists in a row opened 50 TLS connections and took 217 ms; with one
 *   keep-alive agent they took 1 connection and 26 ms.
 * - A request has no timeout of its own: to a server that accepted it and never answered, it failed after 301 s.
 *   `KubernetesObjectApi` has no way to pass an AbortSignal; here every API object has a signal and a timeout.
 * - A 401 is final, and `CoreV1Api` drops its body. Tokens expire and kubeconfigs are rewritten, so here a 401 loads
 *   the credentials again, once.
 */
import http from 'node:http';
import https from 'node:https';
import type { Configuration, KubeConfig, RequestContext, ResponseContext } from '@kubernetes/client-node';
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import { proxyFor, trustedContext, trustSystemAfter, trustsSystem } from '../../net/outbound.ts';
import { ProxyHttpAgent, ProxyHttpsAgent } from '../../net/proxyAgent.ts';
import { proxyUrl } from '../../net/proxyRules.ts';
import { forgetCredential, pluginCredential, pluginOf } from './execPlugin.ts';
import { connectionError, credentialError } from './kubeErrors.ts';
import type * as Library from './library.ts';
import { readText } from './responseText.ts';

interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

interface RequestContent {
  readonly headers?: http.OutgoingHttpHeaders | undefined;
  readonly body?: string | undefined;
}

/** A response whose body has not been read yet. */
interface OpenResponse {
  readonly status: number;
  readonly body: http.IncomingMessage;
  /** How far this machine's clock is ahead of the API server's. */
  readonly skewMs: number | undefined;
}

/** The options of `https.request` and `ws` for a kubeconfig's credentials. */
type Credentials = Omit<https.RequestOptions, 'headers'> & { headers: http.OutgoingHttpHeaders };

/** How a user identifies. With both, the API server looks at the certificate first. */
export interface UserCredential {
  readonly token: string | undefined;
  readonly certificate: Pick<https.RequestOptions, 'cert' | 'key' | 'passphrase'> | undefined;
  /** The user as whom the kubeconfig acts, which only the API server supports. */
  readonly impersonates: string | undefined;
}

const TOO_MANY_REQUESTS = 429;
/** How often a request that the API server puts off is sent again, and the longest wait before each. */
const MAX_AGAIN = 5;
const MAX_AGAIN_MS = 2_000;
const REQUEST_MS = 30_000;
/** API servers close idle connections after 90 s. */
const KEEP_ALIVE = { keepAlive: true, timeout: 30_000 } as const;
/** An exec plug-in may open a browser and wait for a person. */
const CREDENTIALS_MS = 120_000;

export class Connection {
  readonly server: string;
  readonly context: string;
  /** The namespace of the context. */
  readonly namespace: string | undefined;
  readonly library: typeof Library;
  readonly #load: () => Promise<KubeConfig>;
  #config: KubeConfig;
  /** Keeps connections for the next request; replaced when the credentials change. */
  #cached: { readonly agent: http.Agent; readonly credentials: string } | undefined;

  private constructor(
    library: typeof Library,
    config: KubeConfig,
    load: () => Promise<KubeConfig>,
    context: string | undefined,
  ) {
    this.library = library;
    this.#config = config;
    this.#load = load;
    this.server = config.getCurrentCluster()?.server ?? '';
    this.context = context ?? config.getCurrentContext();
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace?.trim();
  }

  static async open(load: () => Promise<KubeConfig>, context?: string): Promise<Connection> {
    return new Connection(await import('./library.ts'), await load(), load, context);
  }

  /** Returns the configuration for the library's API classes, whose requests use these options. */
  configuration(options: RequestOptions = {}): Configuration {
    const { createConfiguration, ServerConfiguration, wrapHttpLibrary } = this.library;
    return createConfiguration({
      baseServer: new ServerConfiguration(this.server, {}),
      httpApi: wrapHttpLibrary({ send: (request) => this.#send(request, options) }),
    });
  }

  /** Sends a GET whose response is read as it arrives; `signal` ends it; `accept`: another type of response. */
  async stream(
    path: string,
    query: Readonly<Record<string, string | undefined>>,
    signal?: AbortSignal,
    accept?: string,
  ): Promise<OpenResponse> {
    const url = new URL(this.server + path);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
    return this.#open('GET', url, { signal, ...(accept === undefined ? {} : { headers: { accept } }) });
  }

  /** Returns the address and the credentials for a WebSocket at `path`; `reload`: reloads the credentials. */
  async socket(
    path: string,
    { reload = false, signal }: { readonly reload?: boolean; readonly signal?: AbortSignal } = {},
  ): Promise<{ url: string; credentials: Credentials }> {
    if (reload) await this.#reload();
    return { url: `${this.server.replace(/^http/, 'ws')}${path}`, credentials: await this.#credentials(signal) };
  }

  /**
   * Returns the user's own credential, for a server that asks the cluster whose it is. `reload`: reads the kubeconfig
   * again.
   */
  async credential(reload = false): Promise<UserCredential> {
    if (reload) await this.#reload();
    const { headers, cert, key, passphrase } = await this.#credentials();
    const names = Object.keys(headers);
    const valueOf = (name: string): string | undefined => {
      const value = headers[names.find((one) => one.toLowerCase() === name) ?? ''];
      return typeof value === 'string' ? value : undefined;
    };
    const token = /^Bearer +(\S+)$/i.exec(valueOf('authorization') ?? '')?.[1];
    return {
      token,
      certificate:
        cert === undefined || key === undefined
          ? undefined
          : { cert, key, ...(passphrase === undefined ? {} : { passphrase }) },
      impersonates: valueOf('impersonate-user'),
    };
  }

  /** Closes idle connections. */
  close(): void {
    this.#cached?.agent.destroy();
    this.#cached = undefined;
  }

  /** Returns the error of a failed request, with its hint. */
  failure(error: unknown, signal: AbortSignal | undefined): Promise<StudioError> {
    if (StudioError.is(error)) return Promise.resolve(error);
    return connectionError(error, {
      server: this.server,
      context: this.context,
      cancelled: signal?.aborted === true && !isTimeout(signal.reason),
      serverTime: () => this.#serverTime(),
    });
  }

  async #send(request: RequestContext, options: RequestOptions): Promise<ResponseContext> {
    const body = request.getBody();
    const answer = await this.#readWhole(request.getHttpMethod(), new URL(request.getUrl()), {
      ...options,
      headers: request.getHeaders(),
      body: typeof body === 'string' ? body : undefined,
    });
    return new this.library.ResponseContext(answer.status, answer.headers, {
      text: () => Promise.resolve(answer.text),
      binary: () => Promise.resolve(Buffer.from(answer.text)),
      stream: () => null,
    });
  }

  async #readWhole(
    method: string,
    url: URL,
    options: RequestOptions & RequestContent,
  ): Promise<{ readonly status: number; readonly text: string; readonly headers: Record<string, string> }> {
    await this.#runPlugin(options.signal);
    const timeout = AbortSignal.timeout(options.timeoutMs ?? REQUEST_MS);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    const { status, body } = await this.#open(method, url, { ...options, signal });
    try {
      let text = '';
      for await (const piece of readText(body)) text += piece;
      const headers = Object.entries(body.headers).map(([name, value]) => [name, String(value)] as const);
      return { status, text, headers: Object.fromEntries(headers) };
    } catch (error) {
      if (timeout.aborted) this.#dropIdle();
      throw await this.failure(timeout.aborted ? timeout.reason : error, options.signal);
    }
  }

  /**
   * Sends a request. If the API server rejects the credentials, reloads them and sends it again; if it asks for that,
   * after the time that it says, as kubectl does.
   */
  async #open(method: string, url: URL, options: RequestOptions & RequestContent): Promise<OpenResponse> {
    const trusted = trustsSystem();
    try {
      let answer = await this.#retryReused(method, url, options);
      for (let again = 0; answer.status === TOO_MANY_REQUESTS && again < MAX_AGAIN; again++) {
        const seconds = Number(answer.body.headers['retry-after'] ?? Number.NaN);
        if (Number.isNaN(seconds)) break;
        answer.body.resume();
        await sleep(Math.min(seconds * 1_000, MAX_AGAIN_MS), options.signal);
        answer = await this.#retryReused(method, url, options);
      }
      if (answer.status !== 401) return answer;
      answer.body.resume();
      await this.#reload();
      return await this.#requestOnce(method, url, options);
    } catch (error) {
      if (trustSystemAfter(error, trusted)) return await this.#open(method, url, options);
      throw await this.failure(error, options.signal);
    }
  }

  /** Repeats a request on a new connection if the server closed the reused one just when the request was sent. */
  async #retryReused(method: string, url: URL, options: RequestOptions & RequestContent): Promise<OpenResponse> {
    try {
      return await this.#requestOnce(method, url, options);
    } catch (error) {
      if (!(error instanceof ReusedSocketError)) throw error;
      if (method !== 'GET' && method !== 'DELETE') throw error.cause;
      this.#dropIdle();
      return await this.#requestOnce(method, url, options);
    }
  }

  async #requestOnce(method: string, url: URL, options: RequestOptions & RequestContent): Promise<OpenResponse> {
    const credentials = await this.#credentials(options.signal);
    options.signal?.throwIfAborted();
    const body = options.body === undefined ? undefined : Buffer.from(options.body);
    const headers: http.OutgoingHttpHeaders = { accept: 'application/json', ...lowerCase(options.headers) };
    if (body !== undefined) headers['content-length'] = body.length;
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'http:' ? http : https).request(url, {
        ...credentials,
        method,
        headers: { ...headers, ...credentials.headers },
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      request.once('response', (response) =>
        resolve({ status: response.statusCode ?? 0, body: response, skewMs: skewOf(response.headers.date) }),
      );
      request.once('error', (error: NodeJS.ErrnoException) =>
        reject(request.reusedSocket && error.code === 'ECONNRESET' ? new ReusedSocketError(error) : error),
      );
      request.end(body);
    });
  }

  /** Runs the plug-in of the kubeconfig before the time of a request begins: it may wait for a person. */
  async #runPlugin(signal: AbortSignal | undefined): Promise<void> {
    if (pluginOf(this.#config) === undefined) return;
    try {
      await this.#credentials(signal);
    } catch (error) {
      throw await this.failure(error, signal);
    }
  }

  /** Reads the kubeconfig again, and runs its plug-in again: the cluster did not accept the credential. */
  async #reload(): Promise<void> {
    const exec = pluginOf(this.#config);
    if (exec !== undefined) forgetCredential({ exec, cluster: this.#config.getCurrentCluster() });
    this.#config = await this.#load();
  }

  /** If one connection went silent, the idle ones are dead too. */
  #dropIdle(): void {
    for (const sockets of Object.values(this.#cached?.agent.freeSockets ?? {}))
      for (const socket of sockets ?? []) socket.destroy();
  }

  async #credentials(signal?: AbortSignal): Promise<Credentials> {
    const config = this.#config;
    const credentials: Credentials = { headers: {} };
    const exec = pluginOf(config);
    try {
      await withTimeout(config.applyToHTTPSOptions(credentials), CREDENTIALS_MS);
      if (exec !== undefined) {
        const call = { exec, cluster: config.getCurrentCluster(), context: this.context, signal };
        const { token, cert, key } = await pluginCredential(call);
        if (token !== undefined) credentials.headers['Authorization'] = `Bearer ${token}`;
        if (cert !== undefined) Object.assign(credentials, { cert, key });
      }
    } catch (error) {
      if (StudioError.is(error) || signal?.aborted === true) throw error;
      throw credentialError(error, exec, this.context);
    }
    // The library's agent supports SOCKS; ours keeps connections, notices new certificates, and knows the environment.
    const proxy = config.getCurrentCluster()?.proxyUrl;
    if (proxy?.startsWith('socks') !== true) credentials.agent = this.#agentFor(credentials, proxy);
    return credentials;
  }

  /** `configured`: the proxy in the kubeconfig. */
  #agentFor(
    { ca, cert, key, servername, rejectUnauthorized }: Credentials,
    configured: string | undefined,
  ): http.Agent {
    const server = new URL(this.server);
    const proxy = configured === undefined ? proxyFor(server) : proxyUrl(configured);
    const credentials = [ca, cert, key, servername, proxy?.href, trustsSystem()].map(String).join('\n');
    if (this.#cached?.credentials !== credentials) {
      this.#cached?.agent.destroy();
      const tls = Object.entries({ ca, cert, key, servername, rejectUnauthorized });
      const options: https.AgentOptions = Object.fromEntries(tls.filter(([, value]) => value !== undefined));
      // As kubectl does, if the kubeconfig names no authority.
      const secureContext =
        ca === undefined && rejectUnauthorized !== false && server.protocol === 'https:'
          ? trustedContext({ ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) })
          : undefined;
      const agent =
        server.protocol === 'http:'
          ? new ProxyHttpAgent(() => proxy, KEEP_ALIVE)
          : new ProxyHttpsAgent(() => proxy, {
              ...KEEP_ALIVE,
              ...options,
              ...(secureContext === undefined ? {} : { secureContext }),
            });
      this.#cached = { agent, credentials };
    }
    return this.#cached.agent;
  }

  /** Returns the API server's clock if its certificate is not accepted, by a request without credentials. */
  async #serverTime(): Promise<number | undefined> {
    if (!this.server.startsWith('https:')) return undefined;
    const configured = this.#config.getCurrentCluster()?.proxyUrl;
    if (configured?.startsWith('socks') === true) return undefined;
    const proxy = configured === undefined ? proxyFor(new URL(this.server)) : proxyUrl(configured);
    return new Promise((resolve) => {
      const request = https.request(`${this.server}/version`, {
        method: 'HEAD',
        rejectUnauthorized: false,
        agent: proxy === undefined ? false : new ProxyHttpsAgent(() => proxy),
        timeout: 5_000,
      });
      request.once('response', (response) => {
        response.resume();
        const skew = skewOf(response.headers.date);
        resolve(skew === undefined ? undefined : Date.now() - skew);
      });
      request.once('timeout', () => request.destroy());
      request.once('error', () => resolve(undefined));
      request.once('close', () => resolve(undefined));
      request.end();
    });
  }
}

/** The server closed a reused connection during the request. */
class ReusedSocketError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

/** Returns how far this machine's clock is ahead of the one that sent this `Date` header. */
export function skewOf(dateHeader: string | undefined): number | undefined {
  const date = Date.parse(dateHeader ?? '');
  return Number.isNaN(date) ? undefined : Date.now() - date;
}

function lowerCase(headers: http.OutgoingHttpHeaders = {}): http.OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no credentials within ${String(ms / 1000)} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Requests to one API server with the credentials of a kubeconfig or of the pod's account. What the kubeconfig allows
 * (exec plug-ins, OIDC, client certificates, proxies) is `@kubernetes/client-node`'s doing; it is loaded with the first
 * cluster only. An answer 401 makes the credentials be read anew, once: tokens expire and kubeconfigs are rewritten.
 */
import http from 'node:http';
import https from 'node:https';
import { StudioError } from '../../common/errors.ts';
import { readText } from './answerText.ts';
import type { KubeConfig } from './kubeconfig.ts';
import { connectionError, credentialError } from './kubeErrors.ts';

export interface RequestOptions {
  readonly query?: Readonly<Record<string, string | undefined>> | undefined;
  readonly body?: unknown;
  /** Of the body; JSON where it is not said. */
  readonly contentType?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** How far this machine's clock is ahead of the one of the API server. */
  readonly skewMs: number | undefined;
}

/** An answer whose body is still to come. */
export interface OpenAnswer {
  readonly status: number;
  readonly body: http.IncomingMessage;
  readonly skewMs: number | undefined;
}

/** What `https.request` and `ws` take of a kubeconfig. */
export type Credentials = Omit<https.RequestOptions, 'headers'> & { headers: http.OutgoingHttpHeaders };

const REQUEST_MS = 30_000;
/** API servers close idle connections after 90 s. */
const KEPT = { keepAlive: true, timeout: 30_000 } as const;
/** An exec plug-in may open a browser and wait for a person. */
const CREDENTIALS_MS = 120_000;

export class Connection {
  readonly server: string;
  readonly context: string;
  /** The namespace of the context. */
  readonly namespace: string | undefined;
  readonly #load: () => Promise<KubeConfig>;
  #config: KubeConfig;
  /** Keeps connections for the next request; made anew with the credentials. */
  #agent: { readonly made: http.Agent; readonly of: string } | undefined;

  private constructor(config: KubeConfig, load: () => Promise<KubeConfig>, context: string | undefined) {
    this.#config = config;
    this.#load = load;
    this.server = config.getCurrentCluster()?.server ?? '';
    this.context = context ?? config.getCurrentContext();
    this.namespace = config.getContextObject(config.getCurrentContext())?.namespace?.trim();
  }

  static async open(load: () => Promise<KubeConfig>, context?: string): Promise<Connection> {
    return new Connection(await load(), load, context);
  }

  /** One request with its whole answer, whatever its status. */
  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const time = AbortSignal.timeout(options.timeoutMs ?? REQUEST_MS);
    const signal = options.signal === undefined ? time : AbortSignal.any([options.signal, time]);
    const open = await this.stream(method, path, { ...options, signal });
    try {
      let text = '';
      for await (const piece of readText(open.body)) text += piece;
      return { status: open.status, text, skewMs: open.skewMs };
    } catch (error) {
      if (time.aborted) this.#dropIdle();
      throw await this.failure(time.aborted ? time.reason : error, options.signal);
    }
  }

  /** One request whose answer is read as it comes; `signal` ends it. */
  async stream(method: string, path: string, options: Omit<RequestOptions, 'timeoutMs'> = {}): Promise<OpenAnswer> {
    try {
      const answer = await this.#twice(method, path, options);
      if (answer.status !== 401) return answer;
      answer.body.resume();
      this.#config = await this.#load();
      return await this.#once(method, path, options);
    } catch (error) {
      throw await this.failure(error, options.signal);
    }
  }

  /** Address and credentials for a WebSocket at `path`. */
  async socket(path: string, fresh = false): Promise<{ url: string; credentials: Credentials }> {
    if (fresh) this.#config = await this.#load();
    return { url: `${this.server.replace(/^http/, 'ws')}${path}`, credentials: await this.#credentials() };
  }

  /** Ends the connections that are kept. */
  close(): void {
    this.#agent?.made.destroy();
    this.#agent = undefined;
  }

  /** A kept connection may have been closed just as it was taken: what may be asked twice is asked on a new one. */
  async #twice(method: string, path: string, options: RequestOptions): Promise<OpenAnswer> {
    try {
      return await this.#once(method, path, options);
    } catch (error) {
      if (!(error instanceof ReusedSocketError) || (method !== 'GET' && method !== 'DELETE'))
        throw error instanceof ReusedSocketError ? error.cause : error;
      this.#dropIdle();
      return await this.#once(method, path, options);
    }
  }

  async #once(method: string, path: string, options: RequestOptions): Promise<OpenAnswer> {
    const credentials = await this.#credentials();
    options.signal?.throwIfAborted();
    const url = new URL(this.server + path);
    for (const [name, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, value);
    const body = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
    const headers: http.OutgoingHttpHeaders = { ...credentials.headers, accept: 'application/json' };
    if (body !== undefined) {
      headers['content-type'] = options.contentType ?? 'application/json';
      headers['content-length'] = body.length;
    }
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'http:' ? http : https).request(url, {
        ...credentials,
        method,
        headers,
        ...(options.signal === undefined ? {} : { signal: options.signal }),
      });
      request.once('response', (response) =>
        resolve({ status: response.statusCode ?? 0, body: response, skewMs: skewOf(response) }),
      );
      request.once('error', (error: NodeJS.ErrnoException) =>
        reject(request.reusedSocket && error.code === 'ECONNRESET' ? new ReusedSocketError(error) : error),
      );
      request.end(body);
    });
  }

  /** After a silence the idle connections are as dead as the one that was silent. */
  #dropIdle(): void {
    for (const sockets of Object.values(this.#agent?.made.freeSockets ?? {}))
      for (const socket of sockets ?? []) socket.destroy();
  }

  async #credentials(): Promise<Credentials> {
    const config = this.#config;
    const credentials: Credentials = { headers: {} };
    try {
      await withinTime(config.applyToHTTPSOptions(credentials), CREDENTIALS_MS);
    } catch (error) {
      throw credentialError(error, config.getCurrentUser()?.exec as unknown, this.context);
    }
    // Through a proxy the library's agent knows the way; else ours keeps connections and knows of new certificates.
    if (config.getCurrentCluster()?.proxyUrl === undefined) credentials.agent = this.#keptAgent(credentials);
    return credentials;
  }

  #keptAgent(credentials: Credentials): http.Agent {
    const tls = {
      ca: credentials.ca,
      cert: credentials.cert,
      key: credentials.key,
      servername: credentials.servername,
      rejectUnauthorized: credentials.rejectUnauthorized,
    };
    const of = [tls.ca, tls.cert, tls.key, tls.servername].map(String).join('\n');
    if (this.#agent?.of !== of) {
      this.#agent?.made.destroy();
      const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
      const made = this.server.startsWith('http:') ? new http.Agent(KEPT) : new https.Agent({ ...KEPT, ...given });
      this.#agent = { made, of };
    }
    return this.#agent.made;
  }

  /** What a failed request is for people. */
  failure(error: unknown, signal: AbortSignal | undefined): Promise<StudioError> {
    if (StudioError.is(error)) return Promise.resolve(error);
    return connectionError(error, {
      server: this.server,
      context: this.context,
      cancelled: signal?.aborted === true && !isTimeout(signal.reason),
      serverTime: () => this.#serverTime(),
    });
  }

  /** The API server's clock, where its certificate is not accepted: asked without any credentials. */
  async #serverTime(): Promise<number | undefined> {
    if (!this.server.startsWith('https:')) return undefined;
    return new Promise((resolve) => {
      const request = https.request(`${this.server}/version`, {
        method: 'HEAD',
        rejectUnauthorized: false,
        agent: false,
        timeout: 5_000,
      });
      request.once('response', (response) => {
        response.resume();
        const skew = skewOf(response);
        resolve(skew === undefined ? undefined : Date.now() - skew);
      });
      request.once('timeout', () => request.destroy());
      request.once('error', () => resolve(undefined));
      request.once('close', () => resolve(undefined));
      request.end();
    });
  }
}

/** The connection was an old one, and was closed under the request. */
class ReusedSocketError extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof Error && reason.name === 'TimeoutError';
}

function skewOf(response: http.IncomingMessage): number | undefined {
  const date = Date.parse(response.headers.date ?? '');
  return Number.isNaN(date) ? undefined : Date.now() - date;
}

async function withinTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came of it within ${String(ms / 1000)} s`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

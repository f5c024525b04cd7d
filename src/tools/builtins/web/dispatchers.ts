import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { plainHost, proxyAuthorization } from '../../../net/proxyRules.ts';
import type { Gate } from './addresses.ts';
import type { Outgoing } from './outgoing.ts';

/** Creates dispatchers for requests: direct ones that check addresses, or proxies. */
export class Dispatchers {
  readonly #gate: Gate;
  readonly #outgoing: Outgoing;
  readonly #timeoutMs: number;
  readonly #opened = new Map<string, Dispatcher>();

  constructor(gate: Gate, outgoing: Outgoing, timeoutMs: number) {
    this.#gate = gate;
    this.#outgoing = outgoing;
    this.#timeoutMs = timeoutMs;
  }

  /** Returns the dispatcher for a URL. Throws ClassedError if access is not allowed. */
  async to(url: URL): Promise<Dispatcher> {
    const proxy = this.#outgoing.for(url);
    const timeouts = { headersTimeout: this.#timeoutMs, bodyTimeout: this.#timeoutMs };
    if (proxy === undefined)
      return this.#cached('', () => new Agent({ connect: { lookup: this.#gate.lookup }, ...timeouts }));
    await this.#gate.checkName(plainHost(url));
    const tunnel = url.protocol === 'https:';
    const { 'proxy-authorization': token } = proxyAuthorization(proxy);
    return this.#cached(
      `${tunnel ? 'tunnel' : 'plain'} ${proxy.origin}`,
      () =>
        new ProxyAgent({
          uri: proxy.origin,
          proxyTunnel: tunnel,
          ...(token === undefined ? {} : { token }),
          ...timeouts,
        }),
    );
  }

  async end(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((dispatcher) => dispatcher.destroy()));
  }

  #cached(key: string, make: () => Dispatcher): Dispatcher {
    const dispatcher = this.#opened.get(key) ?? make();
    this.#opened.set(key, dispatcher);
    return dispatcher;
  }
}

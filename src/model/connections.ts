/** What all model clients of a process share: the connections, and the dialect of each endpoint. */
import { Dialect } from './chat/dialect.ts';
import { TokenDecoder } from './decode.ts';
import { SteadyClient } from './http/steadyClient.ts';
import type { TransportOptions } from './http/transport.ts';
import { Transport } from './http/transport.ts';

/** The address of a call. */
export interface Target {
  /** Up to and including `/v1`. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>> | undefined;
}

/** The longest time-out of a Node timer: our own limits end calls, not the client's. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;

export class ModelConnections {
  readonly transport: Transport;
  /** See TransportOptions. */
  readonly wholeReplyMs: number | undefined;
  readonly #clients = new Map<string, SteadyClient>();
  readonly #dialects = new Map<string, Dialect>();
  readonly #decoders = new Map<string, TokenDecoder>();
  /** The last response of each endpoint that accepted no call. */
  readonly troubles: Map<string, string> = new Map();

  constructor(options: TransportOptions = {}) {
    this.transport = new Transport(options);
    this.wholeReplyMs = options.wholeReplyMs;
  }

  client(target: Target): SteadyClient {
    const key = JSON.stringify([target.baseUrl, target.apiKey, target.headers, target.query]);
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = new SteadyClient({
        baseURL: target.baseUrl,
        apiKey: target.apiKey ?? 'none',
        adminAPIKey: null,
        organization: null,
        project: null,
        fetch: this.transport.fetch,
        maxRetries: 0,
        timeout: NO_TIMEOUT_MS,
        logLevel: 'off',
        defaultHeaders: {
          ...(target.apiKey === undefined ? { authorization: null } : {}),
          'x-stainless-timeout': null,
          ...target.headers,
        },
        ...(target.query === undefined ? {} : { defaultQuery: { ...target.query } }),
      });
      this.#clients.set(key, client);
    }
    return client;
  }

  dialect(endpoint: string, model: string): Dialect {
    const key = `${endpoint}\n${model}`;
    let dialect = this.#dialects.get(key);
    if (dialect === undefined) this.#dialects.set(key, (dialect = new Dialect()));
    return dialect;
  }

  decoder(endpoint: string, model: string): TokenDecoder {
    const key = `${endpoint}\n${model}`;
    let decoder = this.#decoders.get(key);
    if (decoder === undefined) this.#decoders.set(key, (decoder = new TokenDecoder()));
    return decoder;
  }

  async close(): Promise<void> {
    await this.transport.close();
  }
}

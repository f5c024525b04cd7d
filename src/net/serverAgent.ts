/** The agent for servers at a URL: it follows proxies, and trusts what the operating system trusts. */
import type { Agent, AgentOptions, RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import type { SecureContext } from 'node:tls';
import { isStrict, proxyFor, trustedContext } from './outbound.ts';
import { ProxyHttpsAgent } from './proxyAgent.ts';

class ServerAgent extends ProxyHttpsAgent {
  #context: SecureContext | undefined;

  constructor(options: AgentOptions) {
    super((host, port) => proxyFor(new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`)), options);
  }

  override createConnection(
    options: RequestOptions,
    created?: (error: Error | null, socket: Duplex) => void,
  ): Duplex | null | undefined {
    // A target with authorities of its own trusts only these.
    if (options.ca !== undefined) return super.createConnection(options, created);
    const secureContext = (this.#context ??= trustedContext()); // undefined as long as it is not needed
    return super.createConnection(
      {
        ...options,
        ...(secureContext === undefined ? {} : { secureContext }),
        ...(isStrict() ? {} : { rejectUnauthorized: false }),
      },
      created,
    );
  }
}

export function serverAgent(options: AgentOptions = {}): Agent {
  return new ServerAgent(options);
}

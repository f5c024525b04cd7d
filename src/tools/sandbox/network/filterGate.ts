/** What programs with a filtered network reach: the public internet, and what the batch allows. */
import { BlockList, isIP } from 'node:net';
import { plainHost } from '../../../net/proxyRules.ts';
import { Gate } from '../../builtins/web/addresses.ts';

const HINT = 'To allow it, add it to `sandbox: { allow: […] }` in the batch file.';

export class FilterGate extends Gate {
  /** Allowed ports of this machine: programs reach them directly, because few use a proxy for them. */
  readonly forwarded: readonly number[];
  readonly #hosts: ReadonlySet<string>;

  /** `allow`: hosts with a port, and networks such as `10.1.0.0/16`. `hint`: how to allow more. */
  constructor(allow: readonly string[], hint = HINT) {
    const networks = new BlockList();
    const hosts = new Set<string>();
    for (const entry of allow) {
      const [address = '', bits] = entry.split('/');
      if (bits === undefined) hosts.add(entry.toLowerCase());
      else networks.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4');
    }
    super(false, { allowed: networks, hint });
    this.#hosts = hosts;
    this.forwarded = [...hosts].flatMap((host) => {
      const port = /^(?:localhost|127\.0\.0\.1):(\d+)$/.exec(host)?.[1];
      return port === undefined ? [] : [Number(port)];
    });
  }

  protected override opens(url: URL): boolean {
    const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
    const host = plainHost(url);
    return this.#hosts.has(`${host}:${port}`) || (host === '127.0.0.1' && this.forwarded.includes(Number(port)));
  }
}

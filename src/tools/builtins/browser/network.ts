/**
 * What the browser of one rollout reaches, and how. It follows the same rule as the rollout's programs: nothing with
 * `network: false`; otherwise the public internet, and with `filtered` also what the batch allows. `private_addresses`
 * of the agent opens this machine and its network to the browser in addition, but not against `network: false`.
 */
import type { LaunchOptions } from 'playwright-core';
import type { BrowserSettings } from '../../../config/schema/builtinSettings.ts';
import type { SubmittedSandbox } from '../../../config/submission.ts';
import { ClassedError } from '../../../trace/classedError.ts';
import type { ProcessGroups } from '../../processes/processGroups.ts';
import { FilterGate } from '../../sandbox/network/filterGate.ts';
import { type FilteredNetwork, type OpenNetwork, openNetwork } from '../../sandbox/network/networks.ts';
import type { View } from '../../sandbox/sandbox.ts';
import { Gate } from '../web/addresses.ts';
import { Outgoing } from '../web/outgoing.ts';
import { type Proxy, startProxy } from './proxy.ts';

const HINT =
  'To allow it, add it to `sandbox: { allow: […] }` in the batch file, or set `private_addresses: true` in the agent ' +
  'file.';

const UNFILTERED = '`private_addresses: true` of the browser in the agent file';

export interface BrowserAccess {
  readonly gate: Gate;
  readonly outgoing: Outgoing;
  /** `proxy`: through one that checks every connection with the gate. */
  readonly way: 'direct' | 'proxy' | 'none';
}

/** Returns what a browser reaches with these settings, in a batch with this sandbox. */
export function browserAccess(
  settings: BrowserSettings,
  { network, allow = [] }: Pick<SubmittedSandbox, 'network' | 'allow'>,
): BrowserAccess {
  const outgoing = new Outgoing(settings.proxy);
  if (network === false) return { gate: new ClosedGate(), outgoing, way: 'none' };
  if (settings.private_addresses === true)
    return { gate: new Gate(true), outgoing, way: outgoing.any ? 'proxy' : 'direct' };
  return { gate: network === 'filtered' ? new FilterGate(allow, HINT) : new Gate(false), outgoing, way: 'proxy' };
}

class ClosedGate extends Gate {
  constructor() {
    super(false);
  }

  override check(): never {
    throw new ClassedError(
      'tool_error',
      'The browser has no network, because the batch file says `sandbox: { network: false }`.',
    );
  }
}

/**
 * The network of one browser. In a sandbox, it is one of its own, in which only the browser reaches its proxy.
 * Elsewhere, and in a pod, the proxy listens where every program and user could use it, so it asks for a password.
 */
export class BrowserNetwork {
  /** What the sandbox of the browser has of the network. */
  readonly view: View['network'];
  readonly #access: BrowserAccess;
  readonly #isRemote: boolean;
  #inside: OpenNetwork | undefined;
  #proxy: Proxy | undefined;

  constructor(access: BrowserAccess, groups: ProcessGroups) {
    this.#access = access;
    this.#isRemote = groups.toolServer !== undefined;
    const { way, gate, outgoing } = access;
    const open = async (): Promise<FilteredNetwork> =>
      (this.#inside = await openNetwork(gate, { outgoing, groups, forwarded: [], unfiltered: UNFILTERED }));
    this.view = way === 'proxy' && !this.#isRemote ? { allow: [], open } : way !== 'none';
  }

  /** Returns how the browser is started. Call it after its sandbox has opened. */
  async launchOptions(hasSandbox: boolean): Promise<Pick<LaunchOptions, 'proxy'>> {
    const { gate, outgoing, way } = this.#access;
    // Only the other container knows whether it has a sandbox.
    const isSandboxed = hasSandbox && !this.#isRemote;
    if (way === 'direct' || (way === 'none' && isSandboxed)) return {};
    if (!isSandboxed) this.#proxy = await startProxy(gate, outgoing);
    const { port = this.#inside?.ports[0] ?? 0, ...credentials } = this.#proxy?.address ?? {};
    return { proxy: { server: `http://127.0.0.1:${port}`, bypass: '<-loopback>', ...credentials } };
  }

  async end(): Promise<void> {
    await Promise.all([this.#inside?.end(), this.#proxy?.close()]);
  }
}

/**
 * What a batch names on the network (model servers, MCP servers, services of tools), as network policies of its pods
 * and of the server. Policies know addresses only, so names are resolved, again and again while the batch runs.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { StudioError } from '../../common/errors.ts';
import { contactsOf } from '../../config/contacts.ts';
import { resolveEnv } from '../../config/env.ts';
import type { Submission } from '../../config/submission.ts';
import type { EndpointSlice, KubeObject } from '../../kubernetes/access/objects.ts';
import { SERVICE_LABEL } from '../../kubernetes/endpoints/sliceReplicas.ts';
import { batchLabels, batchName, labels } from '../../kubernetes/names.ts';
import { address, type EgressRule, namespacePods, type Peer, type Port } from '../../kubernetes/network/peers.ts';

/** How long an address stays allowed after its name last led to it: names of large services lead to many in turn. */
const KEEP_MS = 30 * 60_000;
const LOOKUP_MS = 5_000;

type Resolve = (host: string) => Promise<readonly string[]>;
/** Returns the slices of a Service of the server's namespace. */
type Slices = (label: string, service: string) => Promise<readonly EndpointSlice[]>;

interface BatchNetworkOptions {
  readonly namespace: string;
  readonly slices: Slices;
  /** For tests; otherwise the names are those that pods of the cluster resolve. */
  readonly resolve?: Resolve;
  readonly now?: () => number;
}

export class BatchNetwork {
  readonly #options: BatchNetworkOptions;
  /** By host: its addresses, and when each was last seen. */
  readonly #seen = new Map<string, Map<string, number>>();

  constructor(options: BatchNetworkOptions) {
    this.#options = options;
  }

  /** Returns what the policies of a batch allow. `servers`: origins at which its workers reach the server. */
  async rules(
    submission: Submission,
    secrets: Readonly<Record<string, string>>,
    servers: readonly string[],
  ): Promise<BatchRules> {
    const contacts = contactsOf(submission);
    const resolved = (urls: readonly string[]): string[] =>
      urls.flatMap((url) => {
        try {
          return [resolveEnv(url, secrets)];
        } catch (error) {
          if (StudioError.is(error, 'config')) return []; // the worker reports it
          throw error;
        }
      });
    const [workers, server] = await Promise.all(
      [[...servers, ...resolved(contacts.workers)], resolved(contacts.server)].map((urls) => this.#rulesOf(urls)),
    );
    return { workers: workers ?? [], server: server ?? [] };
  }

  async #rulesOf(urls: readonly string[]): Promise<EgressRule[]> {
    const rules = (await Promise.all([...new Set(urls)].map((url) => this.#rulesFor(url)))).flat();
    // In one order, so that an unchanged policy is recognized.
    const texts = [...new Set(rules.map((rule) => JSON.stringify(rule)))].sort();
    return texts.map((text) => JSON.parse(text) as EgressRule); // its own text
  }

  async #rulesFor(url: string): Promise<EgressRule[]> {
    const { protocol = '', hostname = '', port = '' } = URL.canParse(url) ? new URL(url) : {};
    if (protocol !== 'http:' && protocol !== 'https:') return [];
    const ports = tcp(port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port));
    const host = hostname.replace(/^\[|\]$/g, '');
    if (host === 'localhost') return [];
    const addresses = isIP(host) === 0 ? await this.#addresses(host) : [host];
    const to = addresses.flatMap((ip) => address(ip) ?? []);
    return [...(to.length === 0 ? [] : [{ to, ports }]), ...(await this.#serviceRules(host, ports))];
  }

  /** A Service leads to pods, and policies see their addresses and ports, not its own. */
  async #serviceRules(host: string, ports: readonly Port[]): Promise<EgressRule[]> {
    const [name = '', space, ...rest] = host.replace(/\.$/, '').split('.');
    if (isIP(host) !== 0 || (rest.length > 0 && rest[0] !== 'svc')) return [];
    const { namespace, slices } = this.#options;
    if (space !== undefined && space !== namespace) return [{ to: [namespacePods(space)], ports }];
    const found = (await slices(SERVICE_LABEL, name)).flatMap((slice) => slice.ports ?? []);
    const own = [...new Set(found.flatMap((each) => each.port ?? []))]
      .sort((a, b) => a - b)
      .flatMap((each) => tcp(each));
    const pods: Peer = { podSelector: {} };
    return [{ to: [pods], ports: own.length === 0 ? ports : own }];
  }

  /** Returns the addresses that a name leads to now, or led to before. */
  async #addresses(host: string): Promise<string[]> {
    const { resolve = resolveNow, now = Date.now } = this.#options;
    const seen = this.#seen.get(host) ?? new Map<string, number>();
    this.#seen.set(host, seen);
    // A name that cannot be resolved now may be resolved the next time.
    for (const ip of await resolve(host).catch(() => [])) seen.set(ip, now());
    for (const [ip, at] of seen) if (now() - at > KEEP_MS) seen.delete(ip);
    return [...seen.keys()].sort();
  }
}

interface BatchRules {
  readonly workers: readonly EgressRule[];
  readonly server: readonly EgressRule[];
}

const tcp = (port: number): Port[] => [{ protocol: 'TCP', port }];

async function resolveNow(host: string): Promise<string[]> {
  const late = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error(`${host} was not resolved in time`)), LOOKUP_MS).unref(),
  );
  const found = await Promise.race([lookup(host, { all: true }), late]);
  return found.map((each) => each.address);
}

/** Names of the policies of a batch. */
export function policyNames(batch: string): { readonly workers: string; readonly server: string } {
  return { workers: batchName(batch), server: `${batchName(batch)}-server` };
}

/** Builds the policies of a batch, for its workers and for the server. */
export function batchPolicies(
  batch: string,
  rules: BatchRules,
  metadata: (name: string) => KubeObject['metadata'],
): KubeObject[] {
  const names = policyNames(batch);
  const policy = (name: string, selected: Readonly<Record<string, string>>, egress: readonly EgressRule[]) => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: metadata(name),
    spec: { podSelector: { matchLabels: selected }, policyTypes: ['Egress'], egress },
  });
  return [
    policy(names.workers, batchLabels(batch), rules.workers),
    policy(names.server, labels('server'), rules.server),
  ];
}

/**
 * A fake cluster with users: they have tokens or client certificates, and verbs on our virtual resource. A rollout
 * server that asks it runs in this process, as the only pod.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import type { ClusterTarget } from '../../src/client/targets/target.ts';
import type { Log } from '../../src/common/log.ts';
import { Cluster } from '../../src/kubernetes/access/cluster.ts';
import { ClusterReviewer } from '../../src/kubernetes/identity/clusterReviewer.ts';
import { CLIENT_AUTHORITY, labels, NAMES } from '../../src/kubernetes/names.ts';
import { serverCertificate } from '../../src/kubernetes/tls/authority.ts';
import { type Certificate, newAuthority, validFor } from '../../src/kubernetes/tls/certificate.ts';
import { ACCESS_GROUP, ACCESS_RESOURCE } from '../../src/protocol/access.ts';
import { ProxyIdentity, type ProxyIdentityOptions } from '../../src/server/access/proxyIdentity.ts';
import { startServer } from '../../src/server/server.ts';
import type { RolloutServerOptions } from '../../src/server/serverOptions.ts';
import { openStore } from '../../src/store/open.ts';
import { freePort } from './freePort.ts';
import { type KubeApi, type KubeReply, type KubeRequest, startKubeApi, statusReply } from './kubeApi.ts';
import { servePortForwards } from './kubeForward.ts';

const review = z.object({
  spec: z.object({
    token: z.string().optional(),
    user: z.string().optional(),
    groups: z.array(z.string()).optional(),
    resourceAttributes: z
      .object({ namespace: z.string(), group: z.string(), resource: z.string(), verb: z.string() })
      .optional(),
  }),
});
const READY = ['Ready', 'ContainersReady'].map((type) => ({ type, status: 'True' }));
const TOKENS = { full: 'f'.repeat(40), read: 'r'.repeat(40) };

export interface FakeUser {
  readonly name: string;
  readonly groups?: readonly string[];
  readonly token?: string;
  readonly certificate?: Certificate;
}

type Server = Awaited<ReturnType<typeof startServer>>;
/** What its server may have besides. */
type MoreOptions = Partial<Pick<RolloutServerOptions, 'shares' | 'mounts' | 'demoMetrics' | 'executor'>>;

export class FakeCluster implements AsyncDisposable {
  readonly api: KubeApi;
  /** Signs client certificates. */
  clientAuthority: Certificate = newAuthority('kubernetes', validFor(1));
  /** Verbs of users and groups. */
  readonly verbs = new Map<string, ReadonlySet<string>>();
  readonly users = new Map<string, FakeUser>();
  /** Whether users may read the Secret with the client tokens. */
  secrets = false;
  /** What the server's account may not do; or `outage`: the API server does not answer reviews. */
  refuses: 'nothing' | 'reviews' | 'authority' | 'outage' = 'nothing';
  readonly log: string[] = [];
  /** Port-forwards that are, or were, open. */
  forwards: ReadonlySet<WebSocket> = new Set();
  /** How a proxy in front of the server says who users are. */
  identity: Omit<ProxyIdentityOptions, 'log'> | undefined;
  /** Published by the server. */
  readonly maps = new Map<string, Record<string, string>>();
  readonly #folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-fake-cluster-'));
  readonly #authority = newAuthority('Rollout Studio in ns', validFor(1));
  #server: Server | undefined;
  #reviewer: Cluster | undefined;
  #tlsPort = 0;

  readonly #more: MoreOptions;

  private constructor(api: KubeApi, more: MoreOptions) {
    this.api = api;
    this.#more = more;
  }

  static async start(
    store?: string,
    identity?: (cluster: FakeCluster) => Omit<ProxyIdentityOptions, 'log'>,
    more: MoreOptions = {},
  ): Promise<FakeCluster> {
    const api = await startKubeApi();
    const cluster = new FakeCluster(api, more);
    cluster.identity = identity?.(cluster);
    api.answer = (request) => cluster.#answer(request);
    cluster.forwards = servePortForwards(api, new Set(['server-1']));
    await cluster.startServer(store);
    return cluster;
  }

  async startServer(store = path.join(this.#folder, 'store')): Promise<void> {
    const log: Log = (text) => void this.log.push(text);
    this.#tlsPort = await freePort();
    this.#reviewer = await Cluster.open({ kubeconfig: this.api.kubeconfig });
    this.#server = await startServer({
      store: await openStore(store),
      secretsFolder: path.join(this.#folder, 'secrets'),
      listen: { host: '127.0.0.1', port: 0 },
      secure: {
        port: this.#tlsPort,
        renewMs: 60_000,
        certificate: () => serverCertificate(this.#authority, ['127.0.0.1', 'localhost']),
      },
      origins: { allowHosts: [], allowOrigins: [] },
      tokens: TOKENS,
      reviewer: new ClusterReviewer({
        cluster: this.#reviewer,
        authority: this.#authority.cert,
        log,
        pollMs: 50,
      }),
      ...(this.identity === undefined ? {} : { proxy: new ProxyIdentity({ ...this.identity, log }) }),
      idleMs: 0,
      executor: undefined,
      mounts: [],
      pages: '',
      demoMetrics: undefined,
      log,
      idle: () => undefined,
      ...this.#more,
    });
  }

  /** Cuts all port-forwards, as a lost network does. */
  cut(): void {
    for (const forward of this.forwards) forward.terminate();
  }

  async stopServer(): Promise<void> {
    await this.#server?.stop();
    this.#reviewer?.close();
    this.#server = undefined;
  }

  get tlsPort(): number {
    return this.#tlsPort;
  }

  get port(): number {
    return this.#server?.port ?? 0;
  }

  /** The certificate by which clients know the server. */
  get ca(): string {
    return this.#authority.cert;
  }

  /** A user who may do `verbs`. Returns the target by which it connects. */
  user(user: FakeUser, verbs: readonly string[]): ClusterTarget {
    this.verbs.set(user.name, new Set(verbs));
    this.users.set(user.name, user);
    const { token, certificate } = user;
    const kubeconfig = path.join(this.#folder, `${user.name.replaceAll(/\W/g, '-')}.json`);
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const credential =
      certificate === undefined
        ? { token }
        : {
            'client-certificate-data': base64(certificate.cert),
            'client-key-data': base64(certificate.key),
          };
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        clusters: [{ name: 'fake', cluster: { server: this.api.url } }],
        users: [{ name: user.name, user: credential }],
        contexts: [{ name: 'test', context: { cluster: 'fake', user: user.name, namespace: 'ns' } }],
      }),
    );
    return { context: 'test', kubeconfig, namespace: 'ns' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopServer();
    await this.api[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #answer(request: KubeRequest): KubeReply {
    const { path: at, method } = request;
    if (at.endsWith('/tokenreviews') || at.endsWith('/subjectaccessreviews')) return this.#review(request);
    if (at.includes(`/namespaces/${CLIENT_AUTHORITY.namespace}/configmaps/`))
      return this.refuses === 'authority'
        ? statusReply(403, 'Forbidden', 'User "server" cannot get resource "configmaps" in API group ""')
        : {
            body: { metadata: { name: CLIENT_AUTHORITY.name }, data: { 'client-ca-file': this.clientAuthority.cert } },
          };
    const map = /\/configmaps\/([^/]+)$/.exec(at)?.[1];
    if (map !== undefined && method === 'PATCH') {
      const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(request.body);
      this.maps.set(map, data);
      return { body: request.body };
    }
    if (map !== undefined) {
      const data = this.maps.get(map);
      return data === undefined
        ? statusReply(404, 'NotFound', `configmaps "${map}" not found`, { name: map, kind: 'configmaps' })
        : { body: { metadata: { name: map }, data } };
    }
    if (at.includes('/secrets/'))
      return this.secrets
        ? {
            body: {
              metadata: { name: NAMES.tokens },
              data: Object.fromEntries(
                Object.entries(TOKENS).map(([name, token]) => [name, Buffer.from(token).toString('base64')]),
              ),
            },
          }
        : statusReply(403, 'Forbidden', 'User "somebody" cannot get resource "secrets" in API group ""');
    if (at.endsWith('/pods'))
      return { body: { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [this.#pod()] } };
    return { body: { metadata: { name: NAMES.server } } };
  }

  #pod(): unknown {
    return {
      metadata: { name: 'server-1', labels: labels('server') },
      status: { phase: 'Running', conditions: READY },
      spec: {
        containers: [
          {
            name: 'server',
            ports: [
              { name: 'http', containerPort: this.port },
              { name: 'https', containerPort: this.#tlsPort },
            ],
          },
        ],
      },
    };
  }

  #review(request: KubeRequest): KubeReply {
    const kind = request.path.endsWith('/tokenreviews') ? 'tokenreviews' : 'subjectaccessreviews';
    if (this.refuses === 'outage') return (response) => void response.destroy();
    if (this.refuses === 'reviews')
      return statusReply(403, 'Forbidden', `User "server" cannot create resource "${kind}" in API group "x"`);
    const { spec } = review.parse(request.body);
    if (kind === 'tokenreviews') {
      const user = [...this.users.values()].find(({ token }) => token !== undefined && token === spec.token);
      return {
        body: {
          status:
            user === undefined
              ? { authenticated: false }
              : {
                  authenticated: true,
                  user: { username: user.name, uid: `uid-${user.name}`, groups: [...(user.groups ?? []), 'everybody'] },
                },
        },
      };
    }
    const { namespace, group, resource, verb } = spec.resourceAttributes ?? {};
    const allowed =
      namespace === 'ns' &&
      group === ACCESS_GROUP &&
      resource === ACCESS_RESOURCE &&
      [spec.user ?? '', ...(spec.groups ?? [])].some((name) => this.verbs.get(name)?.has(verb ?? '') === true);
    return { body: { status: { allowed } } };
  }
}

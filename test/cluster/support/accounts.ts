/** A cluster as its accounts see it, without credentials of the user who runs the tests. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type AuthenticationV1TokenRequest, CoreV1Api } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { z } from 'zod';
import type { ClusterTarget } from '../../../src/client/targets/target.ts';
import { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import { KINDS, type Kind } from '../../../src/kubernetes/access/kinds.ts';
import { modelOf } from '../../../src/kubernetes/access/objects.ts';
import { clientCertificate } from '../../support/clientCertificate.ts';
import type { ClusterBench } from './clusterBench.ts';

const kubeconfig = z.looseObject({
  'current-context': z.string(),
  contexts: z.array(
    z.looseObject({ name: z.string(), context: z.looseObject({ cluster: z.string(), user: z.string() }) }),
  ),
  users: z.array(z.looseObject({ name: z.string(), user: z.record(z.string(), z.unknown()) })),
});
const VERBS = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete', 'deletecollection'] as const;

export class Accounts {
  readonly #bench: ClusterBench;
  readonly #folder = mkdtempSync(path.join(os.tmpdir(), 'rollout-rights-'));
  readonly #opened: Cluster[] = [];

  constructor(bench: ClusterBench) {
    this.#bench = bench;
  }

  /** Opens the cluster with a token of an account of the bench's namespace. */
  async open(account: string): Promise<Cluster> {
    const { cluster, namespace } = this.#bench;
    const request = modelOf<AuthenticationV1TokenRequest>({ spec: { audiences: [], expirationSeconds: 600 } });
    const core = new CoreV1Api(cluster.connection.configuration());
    const { status } = await core.createNamespacedServiceAccountToken({ name: account, namespace, body: request });
    return this.#open(account, { token: status?.token });
  }

  /** Opens the cluster with a client certificate that the kit's authority issues. */
  async withCertificate(user: string, groups: readonly string[] = []): Promise<Cluster> {
    const { kit } = this.#bench.site;
    assert.ok(kit !== undefined, 'only the authority of the kit is there to issue certificates');
    const { cert, key } = clientCertificate(kit.authority(), user, groups);
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    return this.#open(user, { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) });
  }

  /** Returns the target by which an account that was opened connects to the server. */
  target(account: string): ClusterTarget {
    return { context: 'it', kubeconfig: this.#file(account), namespace: this.#bench.namespace };
  }

  #file(account: string): string {
    return path.join(this.#folder, `${account}.yaml`);
  }

  async #open(account: string, credential: Record<string, string | undefined>): Promise<Cluster> {
    const { namespace, site } = this.#bench;
    const config = kubeconfig.parse(parse(readFileSync(site.kubeconfig, 'utf8')));
    const current = config.contexts.find(({ name }) => name === site.cluster.context);
    assert.ok(current !== undefined);
    const file = this.#file(account);
    writeFileSync(
      file,
      JSON.stringify({
        ...config,
        users: [{ name: account, user: credential }],
        contexts: [{ name: 'it', context: { cluster: current.context.cluster, user: account } }],
        'current-context': 'it',
      }),
      { mode: 0o600 },
    );
    const opened = await Cluster.open({ kubeconfig: file, namespace });
    this.#opened.push(opened);
    return opened;
  }

  close(): void {
    for (const cluster of this.#opened) cluster.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Returns what an account may do in a namespace: `verb kinds`. */
export async function mayDo(cluster: Cluster, namespace: string): Promise<string[]> {
  const found: string[] = [];
  for (const kind of Object.keys(KINDS) as Kind[])
    for (const verb of VERBS)
      if (await cluster.isAllowed(verb, KINDS[kind].plural, { namespace })) found.push(`${verb} ${KINDS[kind].plural}`);
  return found;
}

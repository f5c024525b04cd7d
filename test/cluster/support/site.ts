/** The cluster the tests work on, and what of it they must know: which image has Node, and how pods reach a server. */
import assert from 'node:assert/strict';
import { kitFolder } from '../../../src/build/system/kits.ts';
import { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import { freePort } from '../../support/freePort.ts';
import { Kit } from './kit.ts';

/** The kit's image: no registry is asked for it. */
const LOCAL_IMAGE = 'localhost/node:local';
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

export interface Site {
  readonly cluster: Cluster;
  readonly kubeconfig: string;
  /** Arguments of `rollout cluster install` for this cluster. */
  readonly arguments: readonly string[];
  /** `pods` of batch files. */
  readonly image: string;
  /** Where pods and this machine share a network: the port the server gets. */
  readonly port: number | undefined;
  /** Where the data outlive the server's pod. */
  readonly durable: boolean;
  /** Breaks and fixes parts of the cluster; undefined where it is not the kit's. */
  readonly kit: Kit | undefined;
  /** Names of the nodes. */
  readonly nodes: readonly string[];
}

/** `folder`: of this machine, for data. */
export async function site(folder: string): Promise<Site> {
  const kubeconfig = process.env['KUBECONFIG'] ?? '';
  assert.ok(kubeconfig !== '', 'KUBECONFIG says which cluster: npm run test:cluster sets it, or starts one');
  const cluster = await Cluster.open({ kubeconfig });
  const nodes = (await cluster.list('Node')).map(({ metadata }) => metadata.name);
  // All on loopback: pods share this machine's network, and its files.
  const here = nodes.every((name) => name.startsWith('127.'));
  const kit = here ? kitFolder('kubernetes') : undefined;
  if (kit === undefined) {
    const durable = (await cluster.list('StorageClass')).some(
      ({ metadata }) => metadata.annotations?.[DEFAULT_CLASS] === 'true',
    );
    return {
      cluster,
      kubeconfig,
      image: 'node:24-slim',
      durable,
      nodes,
      port: undefined,
      kit: undefined,
      arguments: ['--storage', durable ? 'pvc' : 'emptyDir'],
    };
  }
  const port = await freePort();
  return {
    cluster,
    kubeconfig,
    image: LOCAL_IMAGE,
    durable: true,
    nodes,
    port,
    kit: new Kit(kit),
    arguments: [
      '--image',
      LOCAL_IMAGE,
      '--storage',
      `hostPath:${folder}`,
      '--port',
      String(port),
      '--advertise',
      `http://127.0.0.1:${port}`,
    ],
  };
}

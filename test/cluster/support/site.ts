/** The cluster the tests run on and its properties: which image has Node, and how pods reach a server. */
import assert from 'node:assert/strict';
import { kitFolder } from '../../../src/build/system/kits.ts';
import { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import { freePort } from '../../support/freePort.ts';
import { Kit } from './kit.ts';

/** The kit's image; it is never pulled from a registry. */
const LOCAL_IMAGE = 'localhost/node:local';
const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';

export interface Site {
  readonly cluster: Cluster;
  readonly kubeconfig: string;
  /** Arguments of `rollout cluster install` for this cluster. */
  readonly arguments: readonly string[];
  /** `pods` of batch files. */
  readonly image: string;
  /** The server's port, where pods and this machine share a network. */
  readonly port: number | undefined;
  /** Whether the data outlives the server's pod. */
  readonly durable: boolean;
  /** Breaks and fixes parts of the cluster; undefined unless it is the kit's. */
  readonly kit: Kit | undefined;
  /** Names of the nodes. */
  readonly nodes: readonly string[];
}

/** `folder` on this machine, for data. */
export async function site(folder: string): Promise<Site> {
  const kubeconfig = process.env['KUBECONFIG'] ?? '';
  assert.ok(kubeconfig !== '', 'KUBECONFIG says which cluster: npm run test:cluster sets it, or starts one');
  const cluster = await Cluster.open({ kubeconfig });
  const nodes = (await cluster.list('Node')).map(({ metadata }) => metadata.name);
  // Everything is on loopback: pods share this machine's network and files.
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
  const tlsPort = await freePort();
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
      // The kit's pods are on the host's network, which other levels refuse.
      '--pod-security',
      'privileged',
      '--port',
      String(port),
      '--tls-port',
      String(tlsPort),
      '--advertise',
      `https://127.0.0.1:${tlsPort}`,
    ],
  };
}

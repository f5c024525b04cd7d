/** What only the kit's cluster allows: break and fix its processes, and lose whole nodes. Linux only, like the kit. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { z } from 'zod';
import type { Cluster } from '../../../src/kubernetes/access/cluster.ts';
import type { Certificate } from '../../../src/kubernetes/tls/certificate.ts';

export const taint = z.looseObject({ key: z.string(), value: z.string().optional(), effect: z.string() });
const tainted = z.looseObject({ spec: z.looseObject({ taints: z.array(taint).optional() }).optional() });

export class Kit {
  readonly #folder: string;
  readonly #state: string;

  /** `folder`: its scripts. */
  constructor(folder: string) {
    this.#folder = folder;
    this.#state = process.env['ROLLOUT_K8S_DIR'] ?? path.join(os.tmpdir(), 'rollout-k8s');
  }

  /** Its kubectl. */
  get kubectl(): string {
    return path.join(this.#state, 'bin', 'kubectl');
  }

  /** What its API server verifies client certificates with. */
  authority(): Certificate {
    const read = (name: string): string => readFileSync(path.join(this.#state, 'pki', name), 'utf8');
    return { cert: read('ca.crt'), key: read('ca.key') };
  }

  /** E.g. `kube-apiserver`, `kubelet-2`. */
  process(name: string, action: 'pause' | 'resume' | 'kill' | 'start'): void {
    run(path.join(this.#folder, 'process'), [name, action]);
  }

  /** Ends everything on the node immediately. It stays silent until its kubelet is started. */
  loseNode(node: string): void {
    this.process(kubeletOf(node), 'kill');
    const group = readFileSync(path.join(this.#state, 'run', 'cgroup'), 'utf8').trim();
    // In version 1 each controller has its own tree of the same groups.
    const files = globSync([
      `/sys/fs/cgroup/${group}/node-${numberOf(node)}/**/cgroup.procs`,
      `/sys/fs/cgroup/pids/${group}/node-${numberOf(node)}/**/cgroup.procs`,
    ]);
    const processes = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map(Number),
    );
    assert.ok(processes.length > 0, `nothing runs on ${node}`);
    for (const pid of processes) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
  }

  /** Breaks or fixes what runs the pods of a node. The pods go on without it. */
  kubelet(node: string, action: 'kill' | 'start'): void {
    this.process(kubeletOf(node), action);
  }

  findNode(node: string): void {
    this.process(kubeletOf(node), 'start');
  }

  /** Returns the digest of an image. */
  digest(node: string, image: string): string {
    const found = /sha256:[0-9a-f]{64}/.exec(run('ctr', [...this.#ctr(node), 'images', 'list', `name==${image}`]))?.[0];
    assert.ok(found !== undefined, image);
    return found;
  }

  /** Makes an image from a folder, and gives it to all nodes. */
  makeImage(name: string, folder: string): void {
    run(path.join(this.#folder, 'image'), [name, folder, 'node']);
  }

  /** Adds a name to an image, or removes it. */
  image(
    node: string,
    ...command: readonly [action: 'tag', from: string, to: string] | readonly [action: 'rm', name: string]
  ): void {
    run('ctr', [...this.#ctr(node), 'images', ...command]);
  }

  #ctr(node: string): string[] {
    const socket = path.join(this.#state, `node-${numberOf(node)}`, 'containerd.sock');
    return ['--address', socket, '--namespace', 'k8s.io'];
  }
}

/** Allows or forbids new pods on the node. */
export async function cordon(cluster: Cluster, node: string, on: boolean): Promise<void> {
  await cluster.patch('Node', node, { spec: { unschedulable: on ? true : null } });
}

/** Gives up the node, or takes that back. */
export async function giveUp(cluster: Cluster, node: string, on: boolean): Promise<void> {
  const { spec } = tainted.parse(await cluster.get('Node', node));
  const others = (spec?.taints ?? []).filter(({ key }) => key !== 'node.kubernetes.io/out-of-service');
  await cluster.patch('Node', node, {
    spec: {
      taints: on
        ? [...others, { key: 'node.kubernetes.io/out-of-service', value: 'nodeshutdown', effect: 'NoExecute' }]
        : others,
    },
  });
}

/** Nodes are named after their addresses: the last number is the node's. */
function numberOf(node: string): string {
  return node.slice(node.lastIndexOf('.') + 1);
}

function kubeletOf(node: string): string {
  return `kubelet-${numberOf(node)}`;
}

function run(command: string, args: readonly string[]): string {
  const done = spawnSync(command, args, { encoding: 'utf8' });
  assert.equal(done.status, 0, `${command} ${args.join(' ')}: ${done.stderr}`);
  return done.stdout;
}

/**
 * The cluster that test/cluster works on: that of KUBECONFIG, or the kit's, which is started here where it is not up
 * and then taken down again at the end.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { kitFolder, missingKit } from './kits.ts';

interface SuiteCluster {
  readonly kubeconfig: string;
  /** The scripts that break and fix it, where it is the kit's. */
  readonly kit: string | undefined;
  stop(): void;
}

/** Gives why there is none. */
export function startCluster(env: NodeJS.ProcessEnv = process.env): SuiteCluster | string {
  const kit = kitFolder('kubernetes');
  const ofKit = path.join(env['ROLLOUT_K8S_DIR'] ?? path.join(os.tmpdir(), 'rollout-k8s'), 'kubeconfig');
  const named = env['KUBECONFIG'] ?? '';
  if (named !== '' && path.resolve(named) !== ofKit)
    return { kubeconfig: named, kit: undefined, stop: () => undefined };
  if (kit === undefined) {
    const usual = path.join(os.homedir(), '.kube', 'config');
    return existsSync(usual)
      ? { kubeconfig: usual, kit: undefined, stop: () => undefined }
      : (missingKit('cluster') ?? 'it needs a Kubernetes cluster.');
  }
  const script = (name: string): { readonly ok: boolean; readonly said: string } => {
    const done = spawnSync(path.join(kit, name), [], {
      encoding: 'utf8',
      env: { ...env, ROLLOUT_K8S_NODE: process.execPath, ROLLOUT_K8S_NODES: nodesOf(env, ofKit) },
    });
    return { ok: done.status === 0, said: `${done.stdout}${done.stderr}`.trim() };
  };
  const { ok, said } = script('up');
  if (!ok) return `the kit's cluster did not start: ${said.slice(-1000)}`;
  const found = said.includes('already up');
  return {
    kubeconfig: ofKit,
    kit,
    stop: () => {
      if (!found) script('down');
    },
  };
}

/** One node can be drained and lost while another goes on. A cluster that stands is left as it is. */
function nodesOf(env: NodeJS.ProcessEnv, kubeconfig: string): string {
  const settings = path.join(path.dirname(kubeconfig), 'run', 'settings');
  const standing = existsSync(settings) ? /\bnodes=(\d)/.exec(readFileSync(settings, 'utf8'))?.[1] : undefined;
  return standing ?? env['ROLLOUT_K8S_NODES'] ?? '2';
}

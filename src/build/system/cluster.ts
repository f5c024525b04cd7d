/**
 * The cluster for test/cluster: that of KUBECONFIG, or the kit's, which is started if it is not up and stopped again at
 * the end.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { kitFolder, missingKit } from './kits.ts';

/** A start takes half a minute, but the first one has to install programs. */
const SCRIPT_MS = 5 * 60_000;
/** One that hangs is repeated. */
const TRIES = 2;

interface SuiteCluster {
  readonly kubeconfig: string;
  /** The scripts that break and repair it, if it is the kit's. */
  readonly kit: string | undefined;
  stop(): void;
}

/** Returns the cluster, or why there is none. */
export function startCluster(env: NodeJS.ProcessEnv = process.env): SuiteCluster | string {
  const kit = kitFolder('kubernetes');
  const kitConfig = path.join(env['ROLLOUT_K8S_DIR'] ?? path.join(os.tmpdir(), 'rollout-k8s'), 'kubeconfig');
  const configured = env['KUBECONFIG'] ?? '';
  if (configured !== '' && path.resolve(configured) !== kitConfig)
    return { kubeconfig: configured, kit: undefined, stop: () => undefined };
  if (kit === undefined) {
    const defaultConfig = path.join(os.homedir(), '.kube', 'config');
    return existsSync(defaultConfig)
      ? { kubeconfig: defaultConfig, kit: undefined, stop: () => undefined }
      : (missingKit('cluster') ?? 'it needs a Kubernetes cluster.');
  }
  const script = (name: string): { readonly ok: boolean; readonly isLate: boolean; readonly output: string } => {
    const done = spawnSync(path.join(kit, name), [], {
      encoding: 'utf8',
      timeout: SCRIPT_MS,
      killSignal: 'SIGKILL', // a shell that waits for a program ignores others
      env: { ...env, ROLLOUT_K8S_NODE: process.execPath, ROLLOUT_K8S_NODES: nodesOf(env, kitConfig) },
    });
    const isLate = done.signal !== null;
    const late = isLate ? `\n${name} did not end within ${SCRIPT_MS / 60_000} minutes` : '';
    return { ok: done.status === 0, isLate, output: `${done.stdout}${done.stderr}${late}`.trim() };
  };
  let up = script('up');
  for (let tries = 1; up.isLate && tries < TRIES; tries++) {
    console.log(`the kit's cluster did not start, and is started again: ${up.output.slice(-1000)}`);
    up = script('up');
  }
  if (!up.ok) return `the kit's cluster did not start: ${up.output.slice(-1000)}`;
  const wasUp = up.output.includes('already up');
  return {
    kubeconfig: kitConfig,
    kit,
    stop: () => {
      if (!wasUp) script('down');
    },
  };
}

/**
 * Two nodes by default, so that one can be drained and lost while the other continues. A running cluster stays as it
 * is.
 */
function nodesOf(env: NodeJS.ProcessEnv, kubeconfig: string): string {
  const settings = path.join(path.dirname(kubeconfig), 'run', 'settings');
  const running = existsSync(settings) ? /\bnodes=(\d)/.exec(readFileSync(settings, 'utf8'))?.[1] : undefined;
  return running ?? env['ROLLOUT_K8S_NODES'] ?? '2';
}

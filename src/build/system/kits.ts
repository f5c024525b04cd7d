/**
 * Suites that need a real counterpart that is not part of this package. A kit is a folder in an environment variable
 * or, by default, next to the checkout. Without it, the suite prints what is missing.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { root } from '../bundles.ts';

interface Kit {
  /** The suite that uses it. */
  readonly suite: string;
  /** Environment variable that names the folder. */
  readonly variable: string;
  /** Folder below the directory `shared` next to the checkout. */
  readonly folder: string;
  /** A file that it must contain. */
  readonly entry: string;
  readonly what: string;
}

export const KITS: Readonly<Record<string, Kit>> = {
  vllm: {
    suite: 'vllm',
    variable: 'ROLLOUT_VLLM_KIT',
    folder: 'vllm',
    entry: 'up',
    what: 'a folder with the scripts `up` and `down` that start and stop a real vLLM',
  },
  recordings: {
    suite: 'recordings',
    variable: 'ROLLOUT_RECORDINGS',
    folder: 'data',
    entry: 'tau-bench/gpt-4o-airline.json',
    what: 'a folder with real recordings (tau-bench/gpt-4o-airline.json)',
  },
  kubernetes: {
    suite: 'cluster',
    variable: 'ROLLOUT_KUBERNETES_KIT',
    folder: 'kubernetes',
    entry: 'up',
    what:
      'a Kubernetes cluster (KUBECONFIG), or a folder with the scripts `up`, `down` and `process` that start, stop, ' +
      'and break one',
  },
};

/** Returns the folder of a kit, if it exists. */
export function kitFolder(name: string): string | undefined {
  const kit = KITS[name];
  if (kit === undefined) return undefined;
  const folder = process.env[kit.variable] ?? path.resolve(root, '..', 'shared', kit.folder);
  return existsSync(path.join(folder, kit.entry)) ? folder : undefined;
}

/** Returns why a suite cannot run because its kit is missing; undefined if it can. */
export function missingKit(suite: string): string | undefined {
  const [name, kit] = Object.entries(KITS).find(([, one]) => one.suite === suite) ?? [];
  if (name === undefined || kit === undefined || kitFolder(name) !== undefined) return undefined;
  return `it needs ${kit.what}; set ${kit.variable} to it.`;
}

/** How everything of ours in a cluster is called and labelled. One server per namespace, so its names are fixed. */
import { sha256Hex } from '../common/hash.ts';

/** Name of the application; also the field manager of what is applied. */
export const APP = 'rollout-studio';

/** What stands in a namespace besides the Jobs of batches. */
export const NAMES = {
  /** Deployment, Service, ServiceAccount, Role and RoleBinding of the server. */
  server: APP,
  /** Secret with the client tokens: keys `full` and `read`. */
  tokens: `${APP}-tokens`,
  /** ConfigMaps with the programs; their hash and a number follow. */
  programs: `${APP}-programs`,
  /** PersistentVolumeClaim of the store. */
  volume: `${APP}-store`,
  /** PersistentVolumeClaim of a model's weights. */
  cache: `${APP}-vllm-cache`,
  /** NetworkPolicy of the workers' pods, and the ServiceAccount they run as: one without any right. */
  worker: `${APP}-worker`,
  /** Deployment and headless Service of a model. */
  vllm: `${APP}-vllm`,
} as const;

/** Name of the port of the server, in its container and its Service. */
export const SERVER_PORT_NAME = 'http';
/** Where the server listens unless told otherwise. */
export const SERVER_PORT = 8080;

/** Keys of the Secret `NAMES.tokens`, and names of the files it becomes in the server's pod. */
export const TOKEN_KEYS = { full: 'full', read: 'read' } as const;

export const LABEL = {
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  managedBy: 'app.kubernetes.io/managed-by',
  /** On what belongs to one batch: its id. */
  batch: `${APP}/batch`,
} as const;

/** On the server's Deployment: the options it was installed with, as JSON. */
export const OPTIONS_ANNOTATION = `${APP}/options`;
/** On the server's pods and the template they are made of: the hash of what they are to be. */
export const VERSION_ANNOTATION = `${APP}/version`;
/** On a namespace that install made: uninstall removes it. */
export const MADE_ANNOTATION = `${APP}/made-by-install`;

/** `server`: what install brings for the server; `worker`: Jobs, pods, Secrets of batches; `vllm`: a model. */
export type Component = 'server' | 'worker' | 'vllm';

/** The labels every object of ours has. */
export function labels(component: Component, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { [LABEL.name]: APP, [LABEL.component]: component, [LABEL.managedBy]: APP, ...more };
}

/** Labels of what belongs to a batch: its Jobs, their pods, its Secret and ConfigMap. */
export function batchLabels(batch: string): Record<string, string> {
  return labels('worker', { [LABEL.batch]: batchKey(batch) });
}

/** The selector that finds what has all of these labels. */
export function selector(wanted: Readonly<Record<string, string>>): string {
  return Object.entries(wanted)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

/** Finds every object of ours. */
export const OURS = selector({ [LABEL.name]: APP, [LABEL.managedBy]: APP });

/**
 * Name of what a batch has: of its Secret and ConfigMap without `round`, of its Job number `round` (from 1) with it.
 */
export function batchName(batch: string, round?: number): string {
  return round === undefined ? `rollout-${batchKey(batch)}` : `rollout-${batchKey(batch)}-${round}`;
}

/**
 * A batch's id in names and labels. Ids of ours are fine as they are; of another client's, which may have capitals or
 * be long, it is a hash.
 */
function batchKey(batch: string): string {
  return /^b[a-z0-9]{1,30}$/.test(batch) ? batch : `b-${sha256Hex(batch).slice(0, 16)}`;
}

/** The address of the server for pods of usual clusters. */
export function serviceUrl(namespace: string, port: number): string {
  return `http://${NAMES.server}.${namespace}.svc:${port}`;
}

/** Names and labels of our objects in a cluster. There is one server per namespace, so its names are fixed. */
import { sha256Hex } from '../common/hash.ts';

/** Name of the application; also the field manager of the objects that we apply. */
export const APP = 'rollout-studio';

/** Objects in a namespace besides the Jobs of batches. */
export const NAMES = {
  /** Deployment, Service, ServiceAccount, Role and RoleBinding of the server. */
  server: APP,
  /** Secret with the client tokens: keys `full` and `read`. */
  tokens: `${APP}-tokens`,
  /**
   * Secret with the authority that signs the server's certificate: keys `ca.crt` and `ca.key`. The ConfigMap of this
   * name has the certificate alone, for clients.
   */
  authority: `${APP}-ca`,
  /** ConfigMap with the options of the installation. */
  options: `${APP}-options`,
  /** ConfigMaps with the programs; their hash and a number follow. */
  programs: `${APP}-programs`,
  /** PersistentVolumeClaim of the store. */
  volume: `${APP}-store`,
  /** PersistentVolumeClaim of a model's weights. */
  cache: `${APP}-vllm-cache`,
  /** NetworkPolicy of all pods. */
  allPods: `${APP}-pods`,
  /** NetworkPolicy of the workers' pods, and the ServiceAccount they run as: one without any right. */
  worker: `${APP}-worker`,
  /** Deployment and headless Service of a model; the name of a further one follows. */
  vllm: `${APP}-vllm`,
} as const;

/** Name of the port of the server, in its container and its Service. */
export const SERVER_PORT_NAME = 'http';
/** Default port of the server. */
export const SERVER_PORT = 8080;

/** Name and default port of the server for TLS. */
export const TLS_PORT_NAME = 'https';
export const TLS_PORT = 8443;

/** Key of a Secret with headers for the collector of traces. */
export const OTLP_HEADERS_KEY = 'headers';

/** Keys of the Secret with the authority, and names of its files: those of ours, and those of Secrets of type TLS. */
export const AUTHORITY_KEYS = [
  { cert: 'ca.crt', key: 'ca.key' },
  { cert: 'tls.crt', key: 'tls.key' },
] as const;

/** Key of the Secret that a proxy and the server share, and name of its file. */
export const PROXY_SECRET_FILE = 'proxy-secret';

/** Volume of the server's pod with the client tokens, by which clients find the Secret. */
export const TOKENS_VOLUME = 'tokens';

/** Namespace and Role of the cluster with what its API server verifies clients with. */
export const CLIENT_AUTHORITY = { namespace: 'kube-system', name: 'extension-apiserver-authentication' } as const;

/**
 * Returns the name of the bindings by which the server of a namespace may ask the cluster for users and their rights: a
 * ClusterRoleBinding, and a RoleBinding in the namespace of `CLIENT_AUTHORITY`.
 */
export function identityBinding(namespace: string): string {
  return `${APP}-identities.${namespace}`;
}

/** Keys of the Secret `NAMES.tokens`, which are the names of its files in the server's pod. */
export const TOKEN_KEYS = { full: 'full', read: 'read' } as const;

export const LABEL = {
  name: 'app.kubernetes.io/name',
  component: 'app.kubernetes.io/component',
  managedBy: 'app.kubernetes.io/managed-by',
  /** The id of the batch that an object belongs to. */
  batch: `${APP}/batch`,
  /** The name of a further model. */
  model: `${APP}/model`,
} as const;

/** On the server's pods and their template: a hash of what decides about them. */
export const VERSION_ANNOTATION = `${APP}/version`;
/** On the server's Deployment: the options of the installation as canonical JSON. */
export const OPTIONS_ANNOTATION = `${APP}/options`;
/** On a namespace that install created, so that uninstall removes it. */
export const CREATED_ANNOTATION = `${APP}/made-by-install`;

/** On pods that try the way to the server for `rollout target status`. */
export const PROBE_LABEL = `${APP}/probe`;

/** Where pods have their first code from: ConfigMaps, or, where those must not contain code, the server's image. */
export const PROGRAM_SOURCES = ['configmaps', 'image'] as const;
export type ProgramSource = (typeof PROGRAM_SOURCES)[number];
/** Variable of the server with the settings of pods for all batches, as JSON. */
export const WORKERS_VARIABLE = 'ROLLOUT_WORKERS';
/** Variable of the server with the models of the installation, as JSON. */
export const MODELS_VARIABLE = 'ROLLOUT_MODELS';
/** Variable of the server that is set where it alone sees all calls of the models, and divides their GPU time. */
export const MODEL_GPUS_VARIABLE = 'ROLLOUT_MODEL_GPUS';

/** The folder of the programs in such an image. */
export const IMAGE_PROGRAMS = '/opt/rollout';

/**
 * `server`: the installation of the server; `worker`: Jobs, pods, and Secrets of batches; `vllm`: the model of
 * `--vllm`; `model`: one of those of `--models`.
 */
export type Component = 'server' | 'worker' | 'vllm' | 'model';

/** Returns the labels that all our objects have. */
export function labels(component: Component, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { [LABEL.name]: APP, [LABEL.component]: component, [LABEL.managedBy]: APP, ...more };
}

/** Returns the labels of a batch's Jobs, their pods, its Secret, and its ConfigMap. */
export function batchLabels(batch: string): Record<string, string> {
  return labels('worker', { [LABEL.batch]: batchKey(batch) });
}

/** Returns the selector that matches objects with all of these labels. */
export function selector(required: Readonly<Record<string, string>>): string {
  return Object.entries(required)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
}

const ALL_SERVERS = { [LABEL.name]: APP, [LABEL.component]: 'server' };
/** Shows why the server's pod does not run. */
export const DESCRIBE_SERVER = `kubectl describe pods -l ${selector(ALL_SERVERS)}`;

/** Selects all our objects. */
export const OURS = selector({ [LABEL.name]: APP, [LABEL.managedBy]: APP });

/** Returns whether an object is one of ours, whatever tool applied it. */
export function isOurs(object: Labeled): boolean {
  return object.metadata.labels?.[LABEL.name] === APP;
}

/** Returns whether an object is one of a batch. */
export function isOfBatch(object: Labeled, batch: string): boolean {
  return isOurs(object) && object.metadata.labels?.[LABEL.batch] === batchKey(batch);
}

interface Labeled {
  readonly metadata: { readonly labels?: Readonly<Record<string, string>> | undefined };
}

/** How the names of all objects of batches begin. */
export const BATCH_NAME_PREFIX = 'rollout-b';

/** Returns the name of a batch's Secret and ConfigMap, or, with `round` (from 1), of its Job of that number. */
export function batchName(batch: string, round?: number): string {
  return round === undefined ? `rollout-${batchKey(batch)}` : `rollout-${batchKey(batch)}-${round}`;
}

/**
 * Returns a batch's id for names and labels. Our own ids are valid there; ids of other clients, which may be long or
 * have capitals, are hashed.
 */
function batchKey(batch: string): string {
  return /^b[a-z0-9]{1,30}$/.test(batch) ? batch : `b-${sha256Hex(batch).slice(0, 16)}`;
}

/** Returns the address of the server for pods of usual clusters. */
export function serviceUrl(namespace: string, port: number, protocol: 'http' | 'https' = 'http'): string {
  return `${protocol}://${NAMES.server}.${namespace}.svc:${port}`;
}

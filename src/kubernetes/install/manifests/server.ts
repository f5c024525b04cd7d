/** Builds the server's Deployment, and the Service by which pods find it. */
import { LONG_RUNNING_ENV, RETENTION_VARIABLE, SERVER_OPTIONS, SHARES_VARIABLE } from '../../../common/entries.ts';
import { sha256Hex } from '../../../common/hash.ts';
import { canonicalJson } from '../../../common/json.ts';
import { PRODUCT } from '../../../common/product.ts';
import type { KubeObject } from '../../access/objects.ts';
import {
  IMAGE_PROGRAMS,
  labels,
  MODEL_GPUS_VARIABLE,
  MODELS_VARIABLE,
  NAMES,
  OPTIONS_ANNOTATION,
  OTLP_HEADERS_KEY,
  SERVER_PORT_NAME,
  serviceUrl,
  TLS_PORT_NAME,
  TOKEN_KEYS,
  TOKENS_VOLUME,
  VERSION_ANNOTATION,
  WORKERS_VARIABLE,
} from '../../names.ts';
import { CONTAINER_SECURITY, POD_SECURITY, SECRET_MODE } from '../../security/podSecurity.ts';
import type { InstallOptions } from '../options.ts';
import { identityArguments, identityMounts, identityVolumes } from '../outside/identity.ts';
import { isSecureBackend, outsideHosts } from '../outside/objects.ts';
import { bundleMounts, bundleVolumes, serverOutboundEnv } from '../outside/outbound.ts';
import { parseStorage } from '../storage.ts';
import { modelsForServer } from '../vllm/models.ts';
import { object, type Place } from './object.ts';
import { fieldEnv, folderOwner, placed, pullSecrets, secretEnv } from './pods.ts';
import type { ProgramMaps } from './programs.ts';
import { serverAccount } from './rights.ts';
import { scrapeAnnotations } from './scraped.ts';
import { dataVolume } from './volumes.ts';

const PROGRAMS = '/rollout/programs';
const TOKENS = '/rollout/tokens';
const AUTHORITY = '/rollout/authority';
const STORE = '/rollout/store';
/** Holds the unpacked programs, HOME, and TMPDIR. */
const WORK = '/rollout/work';
const WORK_LIMIT = '4Gi';
/** Environment variable with the address of the database; it may contain a password, which arguments would show. */
const DATABASE = 'ROLLOUT_STORE';

/** How long the server may take to end: workers release their rollouts, and everything is written. */
const GRACE_SECONDS = 60;

/** The ConfigMaps with the programs; undefined: they are in the image. */
type ServerPrograms = Pick<ProgramMaps, 'sources' | 'sha'> | undefined;

export function serverDeployment(options: InstallOptions, programs: ServerPrograms, namespace: string): KubeObject {
  const selected = labels('server');
  const { server: pods = {} } = options.pods ?? {};
  const spec = podSpec(options, programs, namespace);
  const sqlite = parseStorage(options.storage).kind !== 'postgres';
  const deployment = object('Deployment', NAMES.server, at(namespace), {
    spec: {
      replicas: options.replicas,
      // An upgrade removes the programs of earlier versions.
      revisionHistoryLimit: 0,
      // Two servers cannot have one SQLite store.
      strategy: sqlite
        ? { type: 'Recreate' }
        : { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: selected },
      template: {
        metadata: {
          labels: { ...pods.labels, ...selected },
          annotations: {
            ...pods.annotations,
            [VERSION_ANNOTATION]: serverVersion(options, programs?.sha),
            ...scrapeAnnotations(options.port),
          },
        },
        spec,
      },
    },
  });
  // A copy, in case that the ConfigMap with the options is lost.
  const annotations = { [OPTIONS_ANNOTATION]: canonicalJson(options) };
  return { ...deployment, metadata: { ...deployment.metadata, annotations } };
}

/** Returns where workers reach the server: URLs, separated by commas. */
export function workerUrls(options: InstallOptions, namespace: string): string {
  return options.advertise ?? serviceUrl(namespace, options.tlsPort, 'https');
}

/** Returns a short hash of what decides about the pods of the server. `sha`: of the programs in ConfigMaps. */
export function serverVersion(options: InstallOptions, sha: string | undefined): string {
  return sha256Hex(`${versionHead(sha)}${canonicalJson(options)}`).slice(0, 12);
}

/** Returns what is hashed before the options. */
export function versionHead(sha: string | undefined): string {
  return `${PRODUCT} ${sha ?? 'image'} `;
}

export function serverService(options: InstallOptions, namespace: string): KubeObject {
  const { serviceAnnotations: annotations } = options;
  const service = object('Service', NAMES.server, at(namespace), {
    spec: {
      type: 'ClusterIP',
      selector: labels('server'),
      ports: [
        { name: SERVER_PORT_NAME, port: options.port, targetPort: SERVER_PORT_NAME, protocol: 'TCP' },
        { name: TLS_PORT_NAME, port: options.tlsPort, targetPort: TLS_PORT_NAME, protocol: 'TCP' },
      ],
    },
  });
  return annotations === undefined ? service : { ...service, metadata: { ...service.metadata, annotations } };
}

function podSpec(
  options: InstallOptions,
  programs: ServerPrograms,
  namespace: string,
): Readonly<Record<string, unknown>> {
  const storage = parseStorage(options.storage);
  const { server: pods = {} } = options.pods ?? {};
  const store = dataVolume('store', storage, NAMES.volume, options.storageSize);
  return {
    serviceAccountName: serverAccount(options),
    ...(pods.image_pull_secrets === undefined ? {} : pullSecrets(options.pullSecret, ...pods.image_pull_secrets)),
    ...placed(labels('server'), pods),
    automountServiceAccountToken: true,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    securityContext: POD_SECURITY,
    ...(storage.kind === 'hostPath'
      ? { initContainers: [folderOwner(options.image, options.pullPolicy, 'store', STORE)] }
      : {}),
    containers: [container(options, programs?.sha, namespace, store !== undefined)],
    volumes: [
      ...(programs === undefined ? [] : [{ name: 'programs', projected: { sources: programs.sources } }]),
      {
        name: TOKENS_VOLUME,
        secret: {
          secretName: options.tokensSecret ?? NAMES.tokens,
          defaultMode: SECRET_MODE,
          items: Object.values(TOKEN_KEYS).map((key) => ({ key, path: key })),
        },
      },
      {
        name: 'authority',
        secret: {
          secretName: options.authoritySecret ?? NAMES.authority,
          defaultMode: SECRET_MODE,
          // Without it, as after an upgrade with rendered manifests, workers connect without TLS.
          optional: true,
        },
      },
      ...identityVolumes(options.identity),
      ...bundleVolumes(options),
      { name: 'work', emptyDir: { sizeLimit: WORK_LIMIT } },
      ...(store === undefined ? [] : [store]),
    ],
  };
}

function container(
  options: InstallOptions,
  sha: string | undefined,
  namespace: string,
  folder: boolean,
): Readonly<Record<string, unknown>> {
  const storage = parseStorage(options.storage);
  const { server: pods = {}, workers } = options.pods ?? {};
  const probe = (path: string) => ({ httpGet: { path, port: SERVER_PORT_NAME }, timeoutSeconds: 5 });
  return {
    name: 'server',
    image: options.image,
    imagePullPolicy: options.pullPolicy,
    command: [
      'node',
      ...SERVER_OPTIONS,
      ...(sha === undefined
        ? [`${IMAGE_PROGRAMS}/dist/server.mjs`]
        : [`${PROGRAMS}/bootstrap.mjs`, PROGRAMS, `${WORK}/programs`, sha, 'server']),
    ],
    args: [
      ...(storage.kind === 'postgres' ? [] : ['--store', STORE]),
      '--host',
      '0.0.0.0',
      '--port',
      String(options.port),
      '--idle-seconds',
      '0',
      '--executor',
      'kubernetes',
      '--authority',
      AUTHORITY,
      '--tls-port',
      String(options.tlsPort),
      '--advertise',
      workerUrls(options, namespace),
      '--advertise-plain',
      options.advertise ?? serviceUrl(namespace, options.port),
      ...hostNames(options, namespace).flatMap((name) => ['--allow-host', name]),
      // Some gateways call the server by the name of its Service.
      ...outsideHosts(options).flatMap((host) => ['--allow-origin', `https://${host}`]),
      ...(isSecureBackend(options) ? ['--tls-min', '1.2'] : []),
      ...identityArguments(options.identity),
      '--tokens',
      TOKENS,
      '--log',
      'json',
      '--metrics',
      'open',
      ...(options.otlp === undefined ? [] : ['--otlp', options.otlp]),
    ],
    env: [
      fieldEnv('ROLLOUT_NAMESPACE', 'metadata.namespace'),
      fieldEnv('ROLLOUT_POD', 'metadata.name'),
      { name: 'ROLLOUT_IMAGE', value: options.image },
      { name: 'ROLLOUT_PULL_POLICY', value: options.pullPolicy },
      ...(workers === undefined ? [] : [{ name: WORKERS_VARIABLE, value: canonicalJson(workers) }]),
      ...(options.shares === undefined ? [] : [{ name: SHARES_VARIABLE, value: canonicalJson(options.shares) }]),
      ...(options.retention === undefined
        ? []
        : [{ name: RETENTION_VARIABLE, value: canonicalJson(options.retention) }]),
      ...modelsEnv(options),
      ...(sha === undefined ? [{ name: 'ROLLOUT_PROGRAMS', value: options.programs }] : []),
      { name: 'HOME', value: WORK },
      { name: 'TMPDIR', value: WORK },
      ...Object.entries(LONG_RUNNING_ENV).map(([name, value]) => ({ name, value })),
      ...(storage.kind === 'postgres' ? [secretEnv(DATABASE, storage.secret, storage.key)] : []),
      ...(options.otlpSecret === undefined
        ? []
        : [secretEnv('OTEL_EXPORTER_OTLP_HEADERS', options.otlpSecret, OTLP_HEADERS_KEY)]),
      ...serverOutboundEnv(options),
    ],
    ports: [
      { name: SERVER_PORT_NAME, containerPort: options.port, protocol: 'TCP' },
      { name: TLS_PORT_NAME, containerPort: options.tlsPort, protocol: 'TCP' },
    ],
    // Without a memory request, the limit is the request.
    resources: {
      requests: { cpu: '250m', ...pods.requests },
      limits: { memory: options.memory, ...pods.limits },
    },
    securityContext: CONTAINER_SECURITY,
    startupProbe: { ...probe('/healthz'), periodSeconds: 1, failureThreshold: 120 },
    livenessProbe: { ...probe('/healthz'), periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...probe('/readyz'), periodSeconds: 5, failureThreshold: 2 },
    // The end of the log, if the container wrote no message.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      ...(sha === undefined ? [] : [{ name: 'programs', mountPath: PROGRAMS, readOnly: true }]),
      { name: TOKENS_VOLUME, mountPath: TOKENS, readOnly: true },
      { name: 'authority', mountPath: AUTHORITY, readOnly: true },
      ...identityMounts(options.identity),
      ...bundleMounts(options),
      { name: 'work', mountPath: WORK },
      ...(folder ? [{ name: 'store', mountPath: STORE }] : []),
    ],
  };
}

/** Returns what the server knows of the installed models. */
function modelsEnv(options: InstallOptions): Readonly<Record<string, unknown>>[] {
  const models = modelsForServer(options);
  if (models.length === 0) return [];
  return [
    { name: MODELS_VARIABLE, value: canonicalJson(models) },
    // Several servers would each divide the GPU time of the models.
    ...(options.replicas > 1 ? [] : [{ name: MODEL_GPUS_VARIABLE, value: '1' }]),
  ];
}

/** Returns the names by which the server may be called. */
function hostNames(options: InstallOptions, namespace: string): string[] {
  const own = [NAMES.server, new URL(serviceUrl(namespace, options.port)).hostname];
  return [...new Set([...own, ...outsideHosts(options), ...options.allowHosts])];
}

function at(namespace: string): Place {
  return { namespace, component: 'server' };
}

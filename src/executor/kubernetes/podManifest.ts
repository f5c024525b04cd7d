/** Builds the pods of a batch, which pass the pod security level `restricted`. Pure. */
import { LONG_RUNNING, LONG_RUNNING_ENV } from '../../common/entries.ts';
import type { SubmittedPods } from '../../config/submission.ts';
import { proxyEnv, pythonAuthorities } from '../../kubernetes/install/outside/outbound.ts';
import { batchLabels, batchName, NAMES, type ProgramSource } from '../../kubernetes/names.ts';
import { spreadOf } from '../../kubernetes/placement.ts';
import { PREPARE_SCRIPT, TOOLS_SCRIPT } from '../../kubernetes/programs/toolsBootstrap.ts';
import {
  AUTHORITY_FILE,
  BUNDLE_FILE,
  GRACE_VARIABLE,
  SECRETS_FILE,
  WORKER_BOOTSTRAP,
  WORKER_FILE,
} from '../../kubernetes/programs/workerBootstrap.ts';
import { CONTAINER_SECURITY, SECRET_MODE, TOOLS_USER, USER } from '../../kubernetes/security/podSecurity.ts';
import { toolResources, workerResources, workLimit } from './podResources.ts';
import type { Scratch } from './scratch.ts';
import { sidecarContainers } from './sidecarContainers.ts';
import type { PodSizing } from './sizing.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The container that runs rollouts. */
export const WORKER = 'worker';
/** What nodes grant that are about to be reclaimed. */
const GRACE_SECONDS = 30;
export const BOOTSTRAP_FILE = 'bootstrap.mjs';
const SOCKET_FILE = 'tools.sock';
/** The container that runs the programs of tools. */
export const TOOLS = 'tools';
const FOLDERS = {
  bootstrap: '/rollout/bootstrap',
  config: '/rollout/config',
  own: '/rollout/own',
  programs: '/rollout/programs',
  socket: '/rollout/socket',
  work: '/rollout/work',
  scratch: '/rollout/scratch',
  authorities: '/rollout/authorities',
} as const;
/** The folder of working directories in its volume. */
const DIRECTORIES = 'rollouts';
/** What a worker may write besides the files of rollouts: programs, HOME, and scorers. */
const OWN_LIMIT = '4Gi';
/** What programs may write to `/tmp` that do not use TMPDIR. */
const TMP_LIMIT = '4Gi';
const PROGRAMS_LIMIT = '256Mi';
const SOCKET_LIMIT = '1Mi';

/** How pods reach what is outside the cluster. */
export interface PodOutbound {
  readonly proxy?: { readonly url: string; readonly except: string };
  /** Further certificate authorities (PEM), which the Secret has. */
  readonly caBundle?: string;
}

export interface PodPlan {
  readonly batch: string;
  /** With the defaults of the installation. */
  readonly pods: SubmittedPods;
  readonly sizing: Pick<PodSizing, 'slots'>;
  /** Disk for what the batch attaches. */
  readonly scratch?: Scratch | undefined;
  /** Image for a batch that does not set one. */
  readonly image: string;
  readonly pullPolicy: string | undefined;
  /** Where the worker has its first code from. */
  readonly programs?: ProgramSource | undefined;
  /** Whether the Secret has the authority by which workers know the server. */
  readonly tls?: boolean | undefined;
  readonly outbound?: PodOutbound | undefined;
  /** Returns an image with its digest, if that is known. */
  readonly pinned?: ((image: string, pullPolicy: string | undefined) => string) | undefined;
}

export function podSpec(plan: PodPlan): Fields {
  const { batch, pods, image, pullPolicy, pinned = (named) => named, tls = false, programs = 'configmaps' } = plan;
  const { slots } = plan.sizing;
  const { outbound = {} } = plan;
  const bundle = outbound.caBundle !== undefined;
  const grace = pods.grace_seconds ?? GRACE_SECONDS;
  const sidecars = sidecarContainers(pods.sidecars ?? [], batch, pinned);
  const policy = pods.pull_policy ?? pullPolicy;
  const base = {
    image: pinned(pods.image ?? image, policy),
    ...(policy === undefined ? {} : { imagePullPolicy: policy }),
    // Its last lines say why it failed.
    terminationMessagePolicy: 'FallbackToLogsOnError',
  };
  const scratch = (name: string, sizeLimit: string): Fields => ({ name, emptyDir: { sizeLimit } });
  return {
    restartPolicy: 'Never',
    serviceAccountName: pods.service_account ?? NAMES.worker,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: grace,
    // Sidecars keep the user of their image.
    securityContext: { fsGroup: USER, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    ...(pods.node_selector === undefined ? {} : { nodeSelector: pods.node_selector }),
    ...(pods.tolerations === undefined ? {} : { tolerations: pods.tolerations }),
    ...(pods.priority_class === undefined ? {} : { priorityClassName: pods.priority_class }),
    ...spreadOf(pods.spread, batchLabels(batch)),
    // The tools start before the worker and end after it.
    initContainers: [
      { ...base, ...prepareContainer(), resources: workerResources(pods, slots) },
      ...sidecars.containers,
      { ...base, ...toolsContainer(outbound), resources: toolResources(pods, slots, plan.scratch) },
    ],
    containers: [
      {
        ...base,
        ...workerContainer(tls || bundle, programs, grace, outbound),
        resources: workerResources(pods, slots),
      },
    ],
    volumes: [
      ...(programs === 'image' ? [] : [{ name: 'bootstrap', configMap: { name: batchName(batch) } }]),
      {
        name: 'config',
        secret: {
          secretName: batchName(batch),
          defaultMode: SECRET_MODE,
          items: [WORKER_FILE, SECRETS_FILE, ...(tls || bundle ? [AUTHORITY_FILE] : [])].map((key) => ({
            key,
            path: key,
          })),
        },
      },
      // Tools see nothing else of the Secret.
      ...(bundle
        ? [
            {
              name: 'authorities',
              secret: { secretName: batchName(batch), items: [{ key: BUNDLE_FILE, path: BUNDLE_FILE }] },
            },
          ]
        : []),
      scratch('own', OWN_LIMIT),
      scratch('tmp', TMP_LIMIT),
      scratch('programs', PROGRAMS_LIMIT),
      scratch('socket', SOCKET_LIMIT),
      scratch('work', workLimit(pods, slots, plan.scratch?.work)),
      scratch('tools', workLimit(pods, slots, plan.scratch?.other)),
      scratch('tools-tmp', TMP_LIMIT),
      ...sidecars.volumes,
    ],
  };
}

/** Makes the folder of working directories. */
function prepareContainer(): Fields {
  return {
    name: 'prepare',
    command: ['node', '--eval', PREPARE_SCRIPT, `${FOLDERS.work}/${DIRECTORIES}`],
    securityContext: securityOf(USER),
    volumeMounts: [{ name: 'work', mountPath: FOLDERS.work }],
  };
}

function workerContainer(tls: boolean, programs: ProgramSource, graceSeconds: number, { proxy }: PodOutbound): Fields {
  return {
    name: WORKER,
    command: [
      ...['node', ...LONG_RUNNING],
      ...(programs === 'image'
        ? ['--input-type=module', '--eval', WORKER_BOOTSTRAP]
        : [`${FOLDERS.bootstrap}/${BOOTSTRAP_FILE}`]),
      FOLDERS.config,
      FOLDERS.own,
      FOLDERS.programs,
      `${FOLDERS.work}/${DIRECTORIES}`,
      `${FOLDERS.socket}/${SOCKET_FILE}`,
    ],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      { name: GRACE_VARIABLE, value: String(graceSeconds) },
      ...homeOf(FOLDERS.own),
      ...Object.entries(LONG_RUNNING_ENV).map(([name, value]) => ({ name, value })),
      // Read when a process of Node.js starts; programs of tools do not get it.
      ...(tls ? [{ name: 'NODE_EXTRA_CA_CERTS', value: `${FOLDERS.config}/${AUTHORITY_FILE}` }] : []),
      ...(proxy === undefined ? [] : proxyEnv(proxy.url, proxy.except)),
    ],
    securityContext: securityOf(USER),
    volumeMounts: [
      ...(programs === 'image' ? [] : [{ name: 'bootstrap', mountPath: FOLDERS.bootstrap, readOnly: true }]),
      { name: 'config', mountPath: FOLDERS.config, readOnly: true },
      { name: 'own', mountPath: FOLDERS.own },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'programs', mountPath: FOLDERS.programs },
      { name: 'socket', mountPath: FOLDERS.socket },
      { name: 'work', mountPath: FOLDERS.work },
    ],
  };
}

function toolsContainer({ proxy, caBundle }: PodOutbound): Fields {
  const file = `${FOLDERS.authorities}/${BUNDLE_FILE}`;
  return {
    name: TOOLS,
    restartPolicy: 'Always',
    command: [
      ...['node', ...LONG_RUNNING, '--eval', TOOLS_SCRIPT],
      ...[FOLDERS.programs, `${FOLDERS.socket}/${SOCKET_FILE}`],
    ],
    env: [
      ...homeOf(FOLDERS.scratch),
      ...(proxy === undefined ? [] : proxyEnv(proxy.url, proxy.except)),
      ...(caBundle === undefined ? [] : [{ name: 'NODE_EXTRA_CA_CERTS', value: file }, ...pythonAuthorities(file)]),
    ],
    securityContext: securityOf(TOOLS_USER),
    volumeMounts: [
      { name: 'tools', mountPath: FOLDERS.scratch },
      { name: 'tools-tmp', mountPath: '/tmp' },
      ...(caBundle === undefined ? [] : [{ name: 'authorities', mountPath: FOLDERS.authorities, readOnly: true }]),
      { name: 'programs', mountPath: FOLDERS.programs, readOnly: true },
      { name: 'socket', mountPath: FOLDERS.socket },
      // Not the whole volume, so that programs cannot replace the folder itself.
      { name: 'work', mountPath: `${FOLDERS.work}/${DIRECTORIES}`, subPath: DIRECTORIES },
    ],
  };
}

function homeOf(folder: string): Fields[] {
  return [
    { name: 'HOME', value: `${folder}/home` },
    { name: 'TMPDIR', value: `${folder}/tmp` },
  ];
}

function securityOf(user: number): Fields {
  return {
    runAsUser: user,
    runAsGroup: USER,
    runAsNonRoot: true,
    ...CONTAINER_SECURITY,
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

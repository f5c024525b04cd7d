/** Builds the pods of a batch, which pass the pod security level `restricted`. Pure. */
import { LONG_RUNNING } from '../../common/entries.ts';
import type { SubmittedPods } from '../../config/submission.ts';
import { batchName, NAMES } from '../../kubernetes/names.ts';
import { AUTHORITY_FILE, SECRETS_FILE, WORKER_FILE } from '../../kubernetes/programs/workerBootstrap.ts';
import { CONTAINER_SECURITY, SECRET_MODE, USER } from '../../kubernetes/security/podSecurity.ts';
import { sidecarContainers } from './sidecarContainers.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The container that runs rollouts. */
export const WORKER = 'worker';
/** A worker stops within 10 s of a signal. */
const GRACE_SECONDS = 15;
export const BOOTSTRAP_FILE = 'bootstrap.mjs';
const FOLDERS = { bootstrap: '/rollout/bootstrap', config: '/rollout/config', work: '/rollout/work' } as const;
/** What a worker may write: programs, HOME, and the folders of rollouts, unless its batch limits its disk space. */
const WORK_LIMIT = '16Gi';
/** What programs may write to `/tmp` that do not use TMPDIR. */
const TMP_LIMIT = '4Gi';

export interface PodPlan {
  readonly batch: string;
  readonly pods: SubmittedPods;
  /** Image for a batch that does not set one. */
  readonly image: string;
  readonly pullPolicy: string | undefined;
  /** Whether the Secret has the authority by which workers know the server. */
  readonly tls?: boolean | undefined;
  /** Returns an image with its digest, if that is known. */
  readonly pinned?: ((image: string, pullPolicy: string | undefined) => string) | undefined;
}

export function podSpec({ batch, pods, image, pullPolicy, pinned = (named) => named, tls = false }: PodPlan): Fields {
  const sidecars = sidecarContainers(pods.sidecars ?? [], batch, pinned);
  const policy = pods.pull_policy ?? pullPolicy;
  return {
    restartPolicy: 'Never',
    serviceAccountName: pods.service_account ?? NAMES.worker,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    // Sidecars keep the user of their image.
    securityContext: { fsGroup: USER, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    ...(pods.node_selector === undefined ? {} : { nodeSelector: pods.node_selector }),
    ...(pods.tolerations === undefined ? {} : { tolerations: pods.tolerations }),
    ...(pods.priority_class === undefined ? {} : { priorityClassName: pods.priority_class }),
    ...(sidecars.containers.length === 0 ? {} : { initContainers: sidecars.containers }),
    containers: [workerContainer(pods, pinned(pods.image ?? image, policy), policy, tls)],
    volumes: [
      { name: 'bootstrap', configMap: { name: batchName(batch) } },
      {
        name: 'config',
        secret: {
          secretName: batchName(batch),
          defaultMode: SECRET_MODE,
          items: [WORKER_FILE, SECRETS_FILE, ...(tls ? [AUTHORITY_FILE] : [])].map((key) => ({ key, path: key })),
        },
      },
      { name: 'work', emptyDir: { sizeLimit: pods.limits?.['ephemeral-storage'] ?? WORK_LIMIT } },
      { name: 'tmp', emptyDir: { sizeLimit: TMP_LIMIT } },
      ...sidecars.volumes,
    ],
  };
}

function workerContainer(pods: SubmittedPods, image: string, pullPolicy: string | undefined, tls: boolean): Fields {
  return {
    name: WORKER,
    image,
    ...(pullPolicy === undefined ? {} : { imagePullPolicy: pullPolicy }),
    command: ['node', ...LONG_RUNNING, `${FOLDERS.bootstrap}/${BOOTSTRAP_FILE}`, FOLDERS.config, FOLDERS.work],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      { name: 'HOME', value: `${FOLDERS.work}/home` },
      { name: 'TMPDIR', value: `${FOLDERS.work}/tmp` },
      // Read when a process of Node.js starts; programs of tools do not get it.
      ...(tls ? [{ name: 'NODE_EXTRA_CA_CERTS', value: `${FOLDERS.config}/${AUTHORITY_FILE}` }] : []),
    ],
    ...(pods.requests === undefined && pods.limits === undefined
      ? {}
      : {
          resources: {
            ...(pods.requests === undefined ? {} : { requests: pods.requests }),
            ...(pods.limits === undefined ? {} : { limits: pods.limits }),
          },
        }),
    securityContext: {
      runAsUser: USER,
      runAsGroup: USER,
      runAsNonRoot: true,
      ...CONTAINER_SECURITY,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    // Its last lines say why it failed.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    volumeMounts: [
      { name: 'bootstrap', mountPath: FOLDERS.bootstrap, readOnly: true },
      { name: 'config', mountPath: FOLDERS.config, readOnly: true },
      { name: 'work', mountPath: FOLDERS.work },
      { name: 'tmp', mountPath: '/tmp' },
    ],
  };
}

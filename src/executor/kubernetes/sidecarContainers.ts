/** Builds the sidecars of a batch's pods: without rights, and with a volume of their own. Pure. */
import { SCRATCH } from '../../config/schema/sidecar.ts';
import { batchName } from '../../kubernetes/names.ts';
import { CONTAINER_SECURITY } from '../../kubernetes/security/podSecurity.ts';
import { environmentKey, variableOf } from './sidecarSecrets.ts';

type Fields = Readonly<Record<string, unknown>>;

interface SidecarParts {
  readonly containers: readonly Fields[];
  readonly volumes: readonly Fields[];
}

/** What each of them may write. */
const SCRATCH_LIMIT = '4Gi';

/** The user is that of the image, which must not be root. */
const SECURITY = {
  runAsNonRoot: true,
  ...CONTAINER_SECURITY,
  seccompProfile: { type: 'RuntimeDefault' },
} as const;

/** Returns containers that start before the worker and end after it, and the volumes they mount. */
export function sidecarContainers(
  sidecars: readonly Fields[],
  batch: string,
  pinned: (image: string, pullPolicy: string | undefined) => string,
): SidecarParts {
  return {
    containers: sidecars.map((sidecar, index) => ({
      ...sidecarContainer(sidecar, volumeOf(index), batch),
      image: pinned(textOf(sidecar['image']) ?? '', textOf(sidecar['imagePullPolicy'])),
    })),
    volumes: sidecars.map((_, index) => ({ name: volumeOf(index), emptyDir: { sizeLimit: SCRATCH_LIMIT } })),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function volumeOf(index: number): string {
  return `${SCRATCH}-${index}`;
}

/** Fields in which a startup probe differs from the readiness probe it is derived from. */
const THRESHOLDS = ['failureThreshold', 'successThreshold', 'periodSeconds', 'initialDelaySeconds'];

/** The worker waits only for its startup probe, so a missing one is derived from its readiness probe. */
function sidecarContainer(sidecar: Fields, volume: string, batch: string): Fields {
  const { env, readinessProbe, startupProbe, securityContext, volumeMounts } = sidecar;
  const started =
    startupProbe ??
    (isObject(readinessProbe)
      ? { failureThreshold: 120, periodSeconds: 1, ...without(readinessProbe, THRESHOLDS) }
      : undefined);
  return {
    ...sidecar,
    restartPolicy: 'Always',
    ...(started === undefined ? {} : { startupProbe: started }),
    ...(Array.isArray(env) ? { env: env.map((entry: unknown) => secretVariable(entry, batch)) } : {}),
    securityContext: { ...SECURITY, ...(isObject(securityContext) ? securityContext : {}) },
    volumeMounts: scratchFolders(volumeMounts).map((mountPath, index) => ({
      name: volume,
      mountPath,
      subPath: String(index),
    })),
  };
}

/** Returns the folders that a sidecar can write to. */
function scratchFolders(mounts: unknown): string[] {
  const folders = (Array.isArray(mounts) ? mounts : []).flatMap((mount: unknown) =>
    isObject(mount) && typeof mount['mountPath'] === 'string' ? [mount['mountPath']] : [],
  );
  return [...new Set(['/tmp', ...folders])];
}

function without(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Takes a variable with `value: ${env:X}` from the batch's Secret. */
function secretVariable(entry: unknown, batch: string): unknown {
  const variable = variableOf(entry);
  if (variable === undefined || !isObject(entry)) return entry;
  return {
    ...without(entry, ['value']),
    valueFrom: { secretKeyRef: { name: batchName(batch), key: environmentKey(variable) } },
  };
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

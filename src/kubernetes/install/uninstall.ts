/** Removes all of our objects from a namespace. */
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../access/cluster.ts';
import type { Kind } from '../access/kinds.ts';
import type { KubeObject } from '../access/objects.ts';
import { CLIENT_AUTHORITY, CREATED_ANNOTATION, identityBinding, NAMES, OURS } from '../names.ts';
import { requireNoGitOps } from './gitOps.ts';
import type { InstallNotice } from './install.ts';
import { admissionNames } from './manifests/admission.ts';
import type { InstallOptions } from './options.ts';
import { OPTIONAL_KINDS, ownOf } from './outside/kinds.ts';
import { parseStorage, type Storage } from './storage.ts';
import { installedOptions } from './stored.ts';

interface UninstallCall {
  /** Also removes the volumes with the data. */
  readonly deleteData: boolean;
  /** Also if a GitOps tool keeps the installation. */
  readonly force?: boolean;
  readonly signal: AbortSignal;
}

/** In this order: first those that would recreate others. Each step is complete before the next one starts. */
const STEPS: readonly (readonly Kind[])[] = [
  ['Deployment'],
  ['Job'],
  ['Pod'],
  [
    ...OPTIONAL_KINDS,
    'Service',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'ConfigMap',
    'Secret',
    'RoleBinding',
    'Role',
    'ServiceAccount',
  ],
];
/** These are removed only after the objects that they created. */
const OWNERS: ReadonlySet<Kind> = new Set(['Deployment', 'Job']);
const DATA: Kind = 'PersistentVolumeClaim';
/** Kinds whose objects, if another program's, keep the namespace. */
const KEEPING_NAMESPACE: readonly Kind[] = [
  'Deployment',
  'Job',
  'Pod',
  'Service',
  'ConfigMap',
  'Secret',
  'PersistentVolumeClaim',
];
/** Objects that every namespace has. */
const EVERYWHERE = new Set(['ConfigMap kube-root-ca.crt', 'ConfigMap openshift-service-ca.crt']);

const POLL_MS = 500;
const REMOVAL_MS = 180_000;

/** Removes everything and waits until it is gone; returns whether there was anything. */
export async function uninstall(cluster: Cluster, call: UninstallCall, notice: InstallNotice): Promise<boolean> {
  if (call.force !== true)
    await requireNoGitOps(cluster, 'Remove its manifests from the repository instead.', call.signal);
  const running = (await cluster.list('Job', { labels: OURS, signal: call.signal })).filter(
    ({ status }) => (status?.active ?? 0) > 0,
  ).length;
  if (running > 0)
    notice.note(
      `Pods of ${running === 1 ? 'a batch' : `${running} batches`} are still running; they end with the server.`,
    );
  const options = await installedOptions(cluster, call.signal);
  // The next installation finds the data by the options.
  const keep = call.deleteData || (await ownObjects(cluster, DATA, call.signal)).length === 0 ? [] : [NAMES.options];
  let any = false;
  for (const kinds of call.deleteData ? [...STEPS, [DATA]] : STEPS)
    any = (await removeAll(cluster, kinds, keep, call.signal, notice)) || any;
  any = (await removeFromCluster(cluster, options, call.signal, notice)) || any;
  const kept = await ownObjects(cluster, DATA, call.signal);
  for (const { metadata } of kept) {
    notice.change({ kind: DATA, name: metadata.name, change: 'stays' });
  }
  if (kept.length > 0)
    notice.note('The data and the namespace are kept for the next installation. Use --delete-data to delete them.');
  if (options !== undefined) reportRemainingData(parseStorage(options.storage), call.deleteData, notice);
  // Removing the namespace would remove the data.
  if (kept.length > 0) return true;
  return (await removeNamespace(cluster, call.signal, notice)) || any;
}

/**
 * Removes what belongs to the cluster: admission policies and bindings, unless others own them. Those of other
 * namespaces stay.
 */
async function removeFromCluster(
  cluster: Cluster,
  options: InstallOptions | undefined,
  signal: AbortSignal,
  notice: InstallNotice,
): Promise<boolean> {
  const policies = options?.admissionPolicies === 'none' ? [] : Object.values(admissionNames(cluster.namespace));
  const bindings = options?.identityBindings === 'none' ? [] : [identityBinding(cluster.namespace)];
  const objects: readonly { readonly kind: Kind; readonly name: string; readonly namespace?: string }[] = [
    ...policies.map((name) => ({ kind: 'ValidatingAdmissionPolicyBinding' as const, name })),
    ...policies.map((name) => ({ kind: 'ValidatingAdmissionPolicy' as const, name })),
    ...bindings.map((name) => ({ kind: 'ClusterRoleBinding' as const, name })),
    ...bindings.map((name) => ({ kind: 'RoleBinding' as const, name, namespace: CLIENT_AUTHORITY.namespace })),
  ];
  let any = false;
  for (const { kind, name, namespace } of objects) {
    try {
      if (!(await cluster.remove(kind, name, { namespace, signal }))) continue;
      any = true;
      notice.change({ kind, name, change: 'removed' });
    } catch (error) {
      // Whoever may not remove them could not create them either, and without the server they have no effect.
      if (!StudioError.is(error, 'forbidden')) throw error;
    }
  }
  return any;
}

/** Says where data outside the namespace stay: uninstall cannot remove those. */
function reportRemainingData(storage: Storage, deleteData: boolean, notice: InstallNotice): void {
  const place =
    storage.kind === 'hostPath'
      ? `the folder ${storage.folder} of the node`
      : storage.kind === 'postgres'
        ? 'the database'
        : undefined;
  if (place !== undefined)
    notice.note(`The data remains in ${place}${deleteData ? ' and can only be deleted there' : ''}.`);
}

/** Removes the objects of some kinds and waits until they are gone; returns whether there were any. */
async function removeAll(
  cluster: Cluster,
  kinds: readonly Kind[],
  keep: readonly string[],
  signal: AbortSignal,
  notice: InstallNotice,
): Promise<boolean> {
  const leaving = async (kind: Kind): Promise<KubeObject[]> =>
    (await ownObjects(cluster, kind, signal)).filter(({ metadata }) => !keep.includes(metadata.name));
  let any = false;
  for (const kind of kinds) {
    for (const { metadata } of await leaving(kind)) {
      any = true;
      if (
        await cluster.remove(kind, metadata.name, {
          propagation: OWNERS.has(kind) ? 'Foreground' : 'Background',
          signal,
        })
      )
        notice.change({ kind, name: metadata.name, change: 'removed' });
    }
  }
  const until = performance.now() + REMOVAL_MS;
  let lastNote = '';
  for (const kind of kinds) {
    for (let remaining = await leaving(kind); remaining.length > 0; remaining = await leaving(kind)) {
      const text = remainingText(kind, remaining);
      if (text !== lastNote) notice.note((lastNote = text));
      if (performance.now() > until)
        throw new StudioError('unavailable', `${text} It is still there.`, {
          hint:
            `A finalizer or a lost node may block it: check kubectl get ${kind.toLowerCase()} -o yaml, then ` +
            'uninstall again.',
        });
      await sleep(POLL_MS, signal);
    }
  }
  return any;
}

function remainingText(kind: Kind, [first, ...more]: readonly KubeObject[]): string {
  return (
    `Waiting until ${kind} ${first?.metadata.name ?? ''}${more.length === 0 ? '' : ` and ${more.length} more`} is ` +
    'removed.'
  );
}

async function ownObjects(cluster: Cluster, kind: Kind, signal: AbortSignal): Promise<KubeObject[]> {
  return await ownOf(cluster, kind, OURS, signal);
}

/** Removes the namespace if install created it and nothing is left in it; returns whether it did. */
async function removeNamespace(cluster: Cluster, signal: AbortSignal, notice: InstallNotice): Promise<boolean> {
  const name = cluster.namespace;
  const found = await cluster.get('Namespace', name, { signal }).catch((error: unknown) => {
    if (StudioError.is(error, 'forbidden')) return undefined;
    throw error;
  });
  if (found?.metadata.annotations?.[CREATED_ANNOTATION] !== 'true') return false;
  const others: string[] = [];
  for (const kind of KEEPING_NAMESPACE) {
    for (const { metadata } of await cluster.list(kind, { signal })) {
      if (!EVERYWHERE.has(`${kind} ${metadata.name}`)) others.push(`${kind} ${metadata.name}`);
    }
  }
  if (others.length > 0) {
    notice.change({ kind: 'Namespace', name, change: 'stays' });
    notice.note(
      'The namespace stays because it contains other objects: ' +
        `${others.slice(0, 3).join(', ')}${others.length > 3 ? ` and ${others.length - 3} more` : ''}.`,
    );
    return false;
  }
  await cluster.remove('Namespace', name, { propagation: 'Foreground', signal });
  const until = performance.now() + REMOVAL_MS;
  while ((await cluster.get('Namespace', name, { signal })) !== undefined && performance.now() < until)
    await sleep(POLL_MS, signal);
  notice.change({ kind: 'Namespace', name, change: 'removed' });
  return true;
}

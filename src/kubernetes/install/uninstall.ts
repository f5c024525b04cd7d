/** Takes everything of ours out of a namespace. */
import { sleep } from '../../common/abort.ts';
import { StudioError } from '../../common/errors.ts';
import type { Cluster } from '../access/cluster.ts';
import type { Kind } from '../access/kinds.ts';
import type { KubeObject } from '../access/objects.ts';
import { MADE_ANNOTATION, OURS } from '../names.ts';
import { type InstallNotice, installedOptions } from './install.ts';
import { parseStorage, type Storage } from './storage.ts';

export interface UninstallCall {
  /** Also removes the volumes with the data. */
  readonly deleteData: boolean;
  readonly signal: AbortSignal;
}

/** In this order: first those that would make others anew. Each list is gone before the next is begun. */
const STEPS: readonly (readonly Kind[])[] = [
  ['Deployment'],
  ['Job'],
  ['Pod'],
  ['Service', 'NetworkPolicy', 'ConfigMap', 'Secret', 'RoleBinding', 'Role', 'ServiceAccount'],
];
/** They are gone only when what they made is. */
const OWNERS: ReadonlySet<Kind> = new Set(['Deployment', 'Job']);
const DATA: Kind = 'PersistentVolumeClaim';
/** Where somebody else's objects would be lost with a namespace. */
const LOOKED_FOR: readonly Kind[] = [
  'Deployment',
  'Job',
  'Pod',
  'Service',
  'ConfigMap',
  'Secret',
  'PersistentVolumeClaim',
];
/** What every namespace has by itself. */
const EVERYWHERE = new Set(['ConfigMap kube-root-ca.crt', 'ConfigMap openshift-service-ca.crt']);

const POLL_MS = 500;
const GONE_WITHIN_MS = 180_000;

/** Waits until all is gone. Whether there was anything. */
export async function uninstall(cluster: Cluster, call: UninstallCall, told: InstallNotice): Promise<boolean> {
  const running = (await cluster.list('Job', { labels: OURS, signal: call.signal })).filter(
    ({ status }) => (status?.active ?? 0) > 0,
  ).length;
  if (running > 0)
    told.note(`Pods of ${running === 1 ? 'a batch' : `${running} batches`} still run: they end with the server.`);
  const options = await installedOptions(cluster, call.signal);
  let any = false;
  for (const kinds of call.deleteData ? [...STEPS, [DATA]] : STEPS)
    any = (await removeAll(cluster, kinds, call.signal, told)) || any;
  const kept = await ours(cluster, DATA, call.signal);
  for (const { metadata } of kept) {
    told.change({ kind: DATA, name: metadata.name, change: 'stays' });
  }
  if (kept.length > 0)
    told.note('The data stay, and their namespace: the next install finds them again. --delete-data removes them.');
  if (options !== undefined) elsewhere(parseStorage(options.storage), call.deleteData, told);
  // It cannot go with the data in it.
  if (kept.length > 0) return true;
  return (await removeNamespace(cluster, call.signal, told)) || any;
}

/** Data that are not in the namespace are out of reach. */
function elsewhere(storage: Storage, unwanted: boolean, told: InstallNotice): void {
  const place =
    storage.kind === 'hostPath'
      ? `the folder ${storage.folder} of the node`
      : storage.kind === 'postgres'
        ? 'the database'
        : undefined;
  if (place !== undefined) told.note(`The data stay in ${place}${unwanted ? ': they can only be removed there' : ''}.`);
}

/** Whether there was anything. Returns when it is gone. */
async function removeAll(
  cluster: Cluster,
  kinds: readonly Kind[],
  signal: AbortSignal,
  told: InstallNotice,
): Promise<boolean> {
  let any = false;
  for (const kind of kinds) {
    for (const { metadata } of await ours(cluster, kind, signal)) {
      any = true;
      if (
        await cluster.remove(kind, metadata.name, {
          propagation: OWNERS.has(kind) ? 'Foreground' : 'Background',
          signal,
        })
      )
        told.change({ kind, name: metadata.name, change: 'removed' });
    }
  }
  const until = performance.now() + GONE_WITHIN_MS;
  let shown = '';
  for (const kind of kinds) {
    for (let left = await ours(cluster, kind, signal); left.length > 0; left = await ours(cluster, kind, signal)) {
      const text = leftText(kind, left);
      if (text !== shown) told.note((shown = text));
      if (performance.now() > until)
        throw new StudioError('unavailable', `${text} It does not go.`, {
          hint: 'A finalizer or a lost node may hold it: see kubectl get -o yaml; then run it again.',
        });
      await sleep(POLL_MS, signal);
    }
  }
  return any;
}

function leftText(kind: Kind, [first, ...more]: readonly KubeObject[]): string {
  return (
    `Waiting until ${kind} ${first?.metadata.name ?? ''}${more.length === 0 ? '' : ` and ${more.length} more`} is ` +
    'gone.'
  );
}

async function ours(cluster: Cluster, kind: Kind, signal: AbortSignal): Promise<KubeObject[]> {
  return await cluster.list(kind, { labels: OURS, signal });
}

/** Removes the namespace if install made it and nothing is left in it. Whether it did. */
async function removeNamespace(cluster: Cluster, signal: AbortSignal, told: InstallNotice): Promise<boolean> {
  const name = cluster.namespace;
  const found = await cluster.get('Namespace', name, { signal }).catch((error: unknown) => {
    if (StudioError.is(error, 'forbidden')) return undefined;
    throw error;
  });
  if (found?.metadata.annotations?.[MADE_ANNOTATION] !== 'true') return false;
  const others: string[] = [];
  for (const kind of LOOKED_FOR) {
    for (const { metadata } of await cluster.list(kind, { signal })) {
      if (!EVERYWHERE.has(`${kind} ${metadata.name}`)) others.push(`${kind} ${metadata.name}`);
    }
  }
  if (others.length > 0) {
    told.change({ kind: 'Namespace', name, change: 'stays' });
    told.note(
      'The namespace stays, for there is something else in it: ' +
        `${others.slice(0, 3).join(', ')}${others.length > 3 ? ` and ${others.length - 3} more` : ''}.`,
    );
    return false;
  }
  await cluster.remove('Namespace', name, { propagation: 'Foreground', signal });
  const until = performance.now() + GONE_WITHIN_MS;
  while ((await cluster.get('Namespace', name, { signal })) !== undefined && performance.now() < until)
    await sleep(POLL_MS, signal);
  told.change({ kind: 'Namespace', name, change: 'removed' });
  return true;
}

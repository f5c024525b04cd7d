/** Installs the server in a namespace, or upgrades it. Repeating it changes nothing. */
import { StudioError } from '../../common/errors.ts';
import { listText } from '../../common/text.ts';
import type { Cluster } from '../access/cluster.ts';
import type { Kind } from '../access/kinds.ts';
import { type KubeObject, kindOf } from '../access/objects.ts';
import { hasDigest, withDigest } from '../images/imageDigest.ts';
import {
  APP,
  CLIENT_AUTHORITY,
  type Component,
  CREATED_ANNOTATION,
  isOurs,
  LABEL,
  labels,
  NAMES,
  selector,
} from '../names.ts';
import { type Archive, type ProgramFile, pack } from '../programs/archive.ts';
import { pageFiles, programFiles, SERVER_PROGRAMS } from '../programs/collect.ts';
import { podSecurityLabels } from '../security/podSecurity.ts';
import { type ClusterPart, clusterPart } from './clusterPart.ts';
import { gitOpsOwner, requireNoGitOps } from './gitOps.ts';
import { manifests } from './manifests/all.ts';
import { type InstallOptions, podSecurityLevel } from './options.ts';
import { OPTIONAL_KINDS, outsideNotes, ownOf } from './outside/kinds.ts';
import { waitUntilReady } from './ready.ts';
import { ensureSecrets, requireSecrets, secretsOf } from './secrets.ts';
import { removeScalers, withReplicas } from './vllm/handover.ts';

export interface Change {
  readonly kind: string;
  readonly name: string;
  readonly change: 'created' | 'changed' | 'same' | 'removed' | 'stays';
}

/** An object as it was, and as it is, or would be. */
export interface ChangedObjects {
  readonly before?: KubeObject | undefined;
  readonly after?: KubeObject | undefined;
}

/** Receives what happens during an installation. */
export interface InstallNotice {
  readonly change: (change: Change, objects?: ChangedObjects) => void;
  /** Reports what the call waits for, or what remains. */
  readonly note: (text: string) => void;
}

interface InstallCall {
  readonly options: InstallOptions;
  /** Creates the namespace if it does not exist. */
  readonly createNamespace: boolean;
  /** Only reports what would change. */
  readonly dryRun: boolean;
  /** Takes back what others changed in our objects, instead of refusing to. */
  readonly force?: boolean;
  /** How long to wait until the server is ready. 0 = not at all. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Kinds of which an upgrade removes obsolete objects. Claims are not among them: they hold data. */
const PRUNED: readonly Kind[] = [
  ...(['Deployment', 'Service', 'ConfigMap', 'NetworkPolicy', 'PodDisruptionBudget'] as const),
  ...OPTIONAL_KINDS,
];

const RENDER = 'Render it again with rollout cluster render and the options to change, and commit that.';

/** Packs everything of this installation that pods run. */
export async function serverArchive(): Promise<Archive> {
  return await pack(await serverFiles());
}

/** Returns the files of this installation that pods run. */
export async function serverFiles(): Promise<ProgramFile[]> {
  const [programs, pages] = await Promise.all([programFiles(SERVER_PROGRAMS), pageFiles()]);
  return [...programs, ...pages];
}

/** Installs the server, or upgrades the one that exists. */
export async function install(cluster: Cluster, call: InstallCall, notice: InstallNotice): Promise<void> {
  const { options, dryRun, signal } = call;
  if (!dryRun && call.force !== true) await requireNoGitOps(cluster, RENDER, signal);
  const objects = manifests(options, await serverArchive(), cluster.namespace);
  if (!(await ensureNamespace(cluster, call, notice))) {
    for (const object of [...secretsOf(options, cluster.namespace), ...objects])
      notice.change({ kind: object.kind, name: object.metadata.name, change: 'created' }, { after: object });
    return;
  }
  const owner = dryRun ? await gitOpsOwner(cluster, signal) : undefined;
  if (owner !== undefined)
    notice.note(`The installation is kept by ${owner}: make these changes in its repository. ${RENDER}`);
  // Its fields are those that would change.
  const force = call.force === true || owner !== undefined;
  await requireSecrets(cluster, options, signal);
  await requireNames(cluster, objects, signal);
  for (const { wanted, before, change } of await ensureSecrets(cluster, options, { dryRun, signal })) {
    const after = change === 'same' ? before : wanted;
    notice.change({ kind: wanted.kind, name: wanted.metadata.name, change }, { before, after });
  }
  const scalers = await removeScalers(cluster, objects, { dryRun, signal });
  for (const before of scalers)
    notice.change({ kind: before.kind, name: before.metadata.name, change: 'removed' }, { before });
  const refused = new Map<ClusterPart, StudioError>();
  for (const object of objects) {
    try {
      const accept = (existing: KubeObject): void => requireOurs([existing], cluster.namespace);
      const done = await applied(cluster, async (): Promise<Parameters<Cluster['apply']>> => {
        const { object: sent, force: takes } = await withReplicas(cluster, object, scalers, { dryRun, signal });
        return [sent, { dryRun, signal, accept, force: takes || force }];
      });
      const { change, before } = done;
      notice.change({ kind: object.kind, name: object.metadata.name, change }, { before, after: done.object });
    } catch (error) {
      const part = clusterPart(object, cluster.namespace);
      // Its Role, which a dry run does not create.
      if (dryRun && part === undefined && object.kind === 'RoleBinding' && StudioError.is(error, 'not_found')) {
        notice.change({ kind: object.kind, name: object.metadata.name, change: 'created' }, { after: object });
        continue;
      }
      if (part === undefined || !isUnavailableHere(error)) throw error;
      if (!refused.has(part)) refused.set(part, error);
    }
  }
  for (const [part, error] of refused) notice.note(part === 'admission' ? admissionNote(error) : identityNote(error));
  for (const note of outsideNotes(options)) notice.note(note);
  if (!dryRun && call.timeoutMs > 0) {
    await waitUntilReady(cluster, { timeoutMs: call.timeoutMs, signal, note: notice.note });
    await noteImage(cluster, options.image, signal, notice);
  }
  // Last: until the new pod runs, the old one may still need its programs.
  await prune(cluster, [...objects, ...scalers], call, notice);
}

/** Throws `conflict` before anything is changed if objects of other programs have names of ours. */
async function requireNames(cluster: Cluster, objects: readonly KubeObject[], signal: AbortSignal): Promise<void> {
  const read = objects
    // Their names contain a hash, and they are large.
    .filter((object) => !object.metadata.name.startsWith(`${NAMES.programs}-`))
    .filter((object) => clusterPart(object, cluster.namespace) === undefined)
    .map((object) =>
      cluster.get(kindOf(object), object.metadata.name, { signal }).catch((error: unknown) => {
        if (StudioError.is(error, 'forbidden')) return undefined; // applying it shows whether that is allowed
        throw error;
      }),
    );
  requireOurs(
    (await Promise.all(read)).filter((found) => found !== undefined),
    cluster.namespace,
  );
}

function requireOurs(existing: readonly KubeObject[], namespace: string): void {
  const foreign = existing.filter((object) => !isOurs(object));
  if (foreign.length === 0) return;
  const names = foreign.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const ours = foreign.map(({ kind, metadata }) => {
    const where = metadata.namespace === undefined ? '' : ` -n ${metadata.namespace}`;
    return `kubectl label ${kind.toLowerCase()} ${metadata.name} ${LABEL.name}=${APP}${where}`;
  });
  throw new StudioError(
    'conflict',
    `${listText(names)} in namespace ${namespace} ${foreign.length === 1 ? 'belongs' : 'belong'} to another program.`,
    { hint: `Use another namespace. What was made for Rollout Studio can be handed over with ${ours.join(' && ')}` },
  );
}

/** Applies an object. Another installation that runs at the same time may be the first at any moment. */
async function applied(cluster: Cluster, read: () => Promise<Parameters<Cluster['apply']>>) {
  for (let tries = 1; ; tries++) {
    try {
      return await cluster.apply(...(await read()));
    } catch (error) {
      const isRace = StudioError.is(error, 'conflict') && RACES.has(String(error.details?.['reason']));
      if (!isRace || tries === MAX_TRIES) throw error;
    }
  }
}

/** Reasons of a conflict that another try resolves. */
const RACES: ReadonlySet<string> = new Set(['Conflict', 'AlreadyExists']);
const MAX_TRIES = 5;

/** Says which content the name of the server's image led to. */
async function noteImage(cluster: Cluster, named: string, signal: AbortSignal, notice: InstallNotice): Promise<void> {
  if (hasDigest(named)) return;
  const pods = await cluster.list('Pod', { labels: selector(labels('server')), signal });
  const ids = pods
    .filter(({ metadata, spec }) => metadata.deletionTimestamp === undefined && spec?.containers[0]?.image === named)
    .flatMap(({ status }) => status?.containerStatuses?.[0]?.imageID ?? []);
  const image = ids.map((id) => withDigest(named, id)).find((found) => found !== undefined);
  if (image !== undefined) notice.note(`The server and its workers run ${image}.`);
  else if (ids.length > 0)
    notice.note(
      `The server runs ${named}, which has no digest of a registry, so nodes may have different images of it.`,
    );
}

/** Says how clients connect without the bindings of the server. */
function identityNote(error: StudioError): string {
  return (
    `Your account may not let the server ask the cluster for its users (${error.message.replace(/\.$/, '')}), so ` +
    `clients need the right to read the Secret ${NAMES.tokens}. An administrator can apply the ClusterRoleBinding ` +
    `and the RoleBinding in ${CLIENT_AUTHORITY.namespace} that rollout cluster render prints.`
  );
}

/** Returns whether the account may not change an object of the cluster, or the cluster is too old to know its kind. */
function isUnavailableHere(error: unknown): error is StudioError {
  return StudioError.is(error, 'forbidden') || StudioError.is(error, 'not_found');
}

/** Says that the server works without its admission policies, and what is missing then. */
function admissionNote(error: StudioError): string {
  return (
    (error.code === 'forbidden'
      ? 'Your account may not create admission policies'
      : 'The cluster has no admission policies, which need Kubernetes 1.30') +
    ', so only the server itself ensures that pods of batches use no Secret but their own.' +
    (error.code === 'forbidden' ? ' An administrator can apply those that rollout cluster render prints.' : '')
  );
}

/** Creates the namespace if needed; returns whether it exists now. */
async function ensureNamespace(cluster: Cluster, call: InstallCall, notice: InstallNotice): Promise<boolean> {
  const name = cluster.namespace;
  const { signal } = call;
  // An account may be allowed to use a namespace, but not to read it.
  const found = await cluster.get('Namespace', name, { signal }).catch((error: unknown) => {
    if (StudioError.is(error, 'forbidden')) return 'unknown' as const;
    throw error;
  });
  if (found !== undefined) return true;
  if (!call.createNamespace) {
    throw new StudioError('not_found', `The namespace ${name} does not exist.`, {
      hint: 'Add --create-namespace to create it, or name another one with --namespace.',
    });
  }
  const level = podSecurityLevel(call.options);
  const namespace: KubeObject = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name,
      labels: { ...labels('server'), ...podSecurityLabels(level) },
      annotations: { [CREATED_ANNOTATION]: 'true' },
    },
  };
  notice.change({ kind: 'Namespace', name, change: 'created' }, { after: namespace });
  if (level !== 'restricted') notice.note(`The namespace enforces the pod security level ${level}, not restricted.`);
  if (call.dryRun) return false;
  await cluster.create(namespace, { signal }).catch((error: unknown) => {
    // Another installation created it in the meantime.
    if (!StudioError.is(error, 'conflict') || error.details?.['reason'] !== 'AlreadyExists') throw error;
  });
  return true;
}

/** `handled`: objects that stay, or that were removed before. */
async function prune(
  cluster: Cluster,
  handled: readonly KubeObject[],
  call: InstallCall,
  notice: InstallNotice,
): Promise<void> {
  const keep = new Set(handled.map(({ kind, metadata }) => `${kind} ${metadata.name}`));
  // The server publishes it.
  keep.add(`ConfigMap ${NAMES.authority}`);
  for (const component of ['server', 'vllm', 'model'] satisfies Component[]) {
    for (const kind of PRUNED) {
      for (const before of await ownOf(cluster, kind, selector(labels(component)), call.signal)) {
        const { metadata } = before;
        if (keep.has(`${kind} ${metadata.name}`)) continue;
        if (call.dryRun || (await cluster.remove(kind, metadata.name, { signal: call.signal })))
          notice.change({ kind, name: metadata.name, change: 'removed' }, { before });
      }
    }
  }
}

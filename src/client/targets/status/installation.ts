/** Compares what is installed in a cluster with what `install` creates, and the rights with those that are needed. */
import { StudioError } from '../../../common/errors.ts';
import { listText, plural } from '../../../common/text.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import { lackingRights, type Right, rightsOf, rightsText } from '../../../kubernetes/access/rights.ts';
import { CLIENT_RULES } from '../../../kubernetes/identity/roles.ts';
import {
  type InspectedInstallation,
  type InspectedObject,
  inspectInstallation,
} from '../../../kubernetes/install/inspect.ts';
import { serverFiles } from '../../../kubernetes/install/install.ts';
import { objectsOf } from '../../../kubernetes/install/manifests/all.ts';
import { serverAccount } from '../../../kubernetes/install/manifests/rights.ts';
import { NAMES } from '../../../kubernetes/names.ts';
import { shaOf } from '../../../kubernetes/programs/archive.ts';
import { type TargetFinding, trouble } from './finding.ts';

/** Reads what is installed; undefined if nothing is. */
export async function readInstallation(
  cluster: Cluster,
  signal: AbortSignal | undefined,
): Promise<InspectedInstallation | undefined> {
  // A checkout that is not built has no programs: then contents are not compared.
  const sha = await serverFiles().then(shaOf, (error: unknown) => {
    if (StudioError.is(error, 'unavailable')) return undefined;
    throw error;
  });
  return await inspectInstallation(cluster, sha, signal);
}

const REPAIR = 'rollout cluster upgrade';

/** Reports objects that are missing, changed, or of other programs. */
export function objectsFinding({ objects, options, isThisVersion, owner }: InspectedInstallation): TargetFinding {
  // The finding `policy` is about those of admission. Without parts of the cluster, batches run all the same.
  const own = objects.filter(({ part, state }) => part === undefined || state === 'differs' || state === 'foreign');
  const noUsers = objects.filter(({ part, state }) => part === 'identities' && state === 'missing').map(nameOf);
  const of = (state: InspectedObject['state']): InspectedObject[] => own.filter((object) => object.state === state);
  const [missing, differing, foreign, unreadable] = [of('missing'), of('differs'), of('foreign'), of('unreadable')];
  const data = { missing: missing.map(nameOf), differs: differing.map(nameOf), foreign: foreign.map(nameOf) };
  const parts = [
    ...(missing.length === 0 ? [] : [`missing: ${listText(data.missing)}`]),
    ...(differing.length === 0
      ? []
      : [`changed: ${listText(differing.map((one) => `${nameOf(one)} (${one.difference ?? ''})`))}`]),
    ...(foreign.length === 0 ? [] : [`of another program: ${listText(data.foreign)}`]),
  ];
  const unreadNames = unreadable.length > MAX_LISTED ? `${unreadable.length} others` : listText(unreadable.map(nameOf));
  const unread = unreadable.length === 0 ? '' : `; no permission to read ${unreadNames}`;
  if (parts.length > 0) {
    const force = differing.some(({ kind }) => kind !== 'Secret') ? ' --force' : '';
    const first = foreign[0];
    const repair =
      owner === undefined ? `Repair it with ${REPAIR}${force}.` : repairBy(owner, [...missing, ...differing]);
    const hint =
      first === undefined ? repair : `Remove or rename what belongs to another program (${nameOf(first)}). ${repair}`;
    // Workers then connect without TLS, as rendered manifests allow.
    const isOnlyTls = parts.length === 1 && data.missing.join() === `Secret ${NAMES.authority}`;
    const text = parts.join('; ') + unread;
    if (!isOnlyTls) return { name: 'objects', state: 'wrong', text, hint, data };
    return { name: 'objects', state: 'missing', text: `${text}, so new workers connect without TLS`, hint, data };
  }
  const count = own.length - unreadable.length;
  const compared = isThisVersion
    ? `${plural(count, 'object')} as installed`
    : `${plural(count, 'object')} exist; they are of another version, so their content was not compared`;
  const kept = owner === undefined ? '' : `; kept by ${owner}`;
  if (noUsers.length === 0) {
    const left = options.identityBindings === 'none' ? '; bindings for identities of users are left to others' : '';
    return { name: 'objects', state: unread === '' ? 'ok' : 'unknown', text: compared + kept + unread + left, data };
  }
  return {
    name: 'objects',
    state: 'missing',
    text:
      `${compared}${kept}${unread}; missing: ${listText(noUsers)}, ` +
      'so users need the right to read the Secret with tokens',
    hint: `Create them with ${REPAIR}, with an account that may.`,
    data: { ...data, missing: noUsers },
  };
}

/** Returns how to repair an installation that a GitOps tool keeps: its Secrets are in no repository. */
function repairBy(owner: string, lacking: readonly InspectedObject[]): string {
  const secrets = lacking.filter(({ kind }) => kind === 'Secret');
  return [
    ...(secrets.length === 0
      ? []
      : [`Create ${listText(secrets.map(nameOf))} with the commands that rollout cluster render prints at the start.`]),
    ...(secrets.length === lacking.length ? [] : [`Sync ${owner}.`]),
  ].join(' ');
}

/** More are counted. */
const MAX_LISTED = 3;

function nameOf({ kind, name }: InspectedObject): string {
  return `${kind} ${name}`;
}

/** Reports whether the account of the server may do what the server needs. */
export async function serverRightsFinding(
  cluster: Cluster,
  { options }: InspectedInstallation,
  signal: AbortSignal | undefined,
): Promise<TargetFinding> {
  const account = serverAccount(options);
  const needed = rightsOf(objectsOf(options, undefined, cluster.namespace), account);
  const user = `system:serviceaccount:${cluster.namespace}:${account}`;
  try {
    const lacking = await lackingRights(cluster, needed, { user, signal });
    return lacking.length === 0
      ? { name: 'rights', state: 'ok', text: `the server may do what it needs (${plural(needed.length, 'right')})` }
      : {
          name: 'rights',
          state: 'wrong',
          text: `the server may not ${rightsText(lacking)}`,
          hint: `Repair its Role and RoleBinding with ${REPAIR} --force.`,
        };
  } catch (error) {
    signal?.throwIfAborted();
    if (StudioError.is(error, 'forbidden'))
      return { name: 'rights', state: 'unknown', text: 'no permission to ask what the account of the server may do' };
    return trouble('rights', error);
  }
}

/** Reports whether the user may use the server through the cluster, and repair it. */
export async function accessFinding(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding> {
  const right = (verb: string, group: string, resource: string, name?: string): Right => ({
    ...{ verb, group, resource, name, namespace: cluster.namespace },
  });
  const use = CLIENT_RULES.flatMap(({ apiGroups: [group], resources: [resource], verbs, ...rule }) =>
    verbs.flatMap((verb) =>
      ('resourceNames' in rule ? rule.resourceNames : [undefined]).map((name) => right(verb, group, resource, name)),
    ),
  );
  const repair = [
    ...['create', 'patch'].flatMap((verb) => [
      right(verb, 'apps', 'deployments'),
      right(verb, '', 'configmaps'),
      right(verb, 'rbac.authorization.k8s.io', 'roles'),
    ]),
    right('create', '', 'secrets'),
  ];
  try {
    const [cannotUse, cannotRepair] = await Promise.all(
      [use, repair].map((rights) => lackingRights(cluster, rights, { signal })),
    );
    if (cannotUse !== undefined && cannotUse.length > 0)
      return {
        name: 'access',
        state: 'wrong',
        text: `you may not ${rightsText(cannotUse)} in namespace ${cluster.namespace}`,
        hint: 'Ask the administrator of the cluster for these rights.',
      };
    const text =
      cannotRepair === undefined || cannotRepair.length === 0
        ? 'you may use, install, and repair the server'
        : `you may use the server, but not repair it (${rightsText(cannotRepair)})`;
    return { name: 'access', state: 'ok', text };
  } catch (error) {
    signal?.throwIfAborted();
    return trouble('access', error);
  }
}

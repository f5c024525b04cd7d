/** Reports how a cluster limits what pods of its namespace can do. */
import { StudioError } from '../../../common/errors.ts';
import type { Cluster } from '../../../kubernetes/access/cluster.ts';
import type { ObjectOf } from '../../../kubernetes/access/objects.ts';
import { admissionNames } from '../../../kubernetes/install/manifests/admission.ts';
import { installedOptions } from '../../../kubernetes/install/stored.ts';
import { NAMES } from '../../../kubernetes/names.ts';
import { missingPodSecurity } from '../../../kubernetes/security/podSecurity.ts';
import type { TargetFinding } from './finding.ts';

/** Reports whether the namespace refuses pods with more rights than ours need. */
export function podSecurityFinding({ metadata }: ObjectOf<'Namespace'>): TargetFinding {
  const missing = missingPodSecurity(metadata.labels ?? {});
  if (missing.length === 0)
    return { name: 'security', state: 'ok', text: 'the namespace enforces the pod security level restricted' };
  return {
    name: 'security',
    state: 'missing',
    text: `the namespace does not enforce the pod security level restricted: it lacks ${missing.join(', ')}`,
    hint:
      'Pods of Rollout Studio run at this level, except with hostPath storage. Enforce it with kubectl label ' +
      `--overwrite namespace ${metadata.name} ${missing.join(' ')}`,
    data: { missing },
  };
}

/** Reports whether the API server confines the server's account; nothing if no server is installed. */
export async function admissionFinding(cluster: Cluster, signal: AbortSignal | undefined): Promise<TargetFinding[]> {
  const installed = await cluster.get('Deployment', NAMES.server, { signal });
  if (installed === undefined) return [];
  const areOthers = await ownedByOthers(cluster, signal);
  const names = Object.values(admissionNames(cluster.namespace));
  const missing: string[] = [];
  try {
    for (const name of names)
      if ((await cluster.get('ValidatingAdmissionPolicyBinding', name, { signal })) === undefined) missing.push(name);
  } catch (error) {
    if (!StudioError.is(error, 'forbidden')) throw error;
    return [{ name: 'policy', state: 'unknown', text: 'no permission to read admission policies' }];
  }
  if (missing.length === 0)
    return [{ name: 'policy', state: 'ok', text: 'admission policies limit the server to objects of batches' }];
  if (areOthers)
    return [
      {
        name: 'policy',
        state: 'missing',
        text:
          'no admission policies limit the server: the installation leaves them to others ' +
          '(--admission-policies none)',
        hint:
          `${WITHOUT_POLICIES} The owner of the cluster’s policies can apply those that rollout cluster render ` +
          '--admission-policies install prints.',
        data: { missing },
      },
    ];
  return [
    {
      name: 'policy',
      state: 'missing',
      text: `admission policies are missing: ${missing.join(', ')}`,
      hint:
        `${WITHOUT_POLICIES} Apply them with ` +
        'rollout cluster upgrade, with an account that may create them, on Kubernetes 1.30 or newer.',
      data: { missing },
    },
  ];
}

/** What nothing but the policies enforces: RBAC cannot say it. */
const WITHOUT_POLICIES =
  'Without them, RBAC alone limits the server’s account: only the server itself ensures that it changes nothing but ' +
  'objects of batches, and that pods of batches use no Secret but their own.';

/** Returns whether the installation leaves the policies to others. What is wrong with its options is said elsewhere. */
async function ownedByOthers(cluster: Cluster, signal: AbortSignal | undefined): Promise<boolean> {
  try {
    return (await installedOptions(cluster, signal))?.admissionPolicies === 'none';
  } catch (error) {
    if (StudioError.is(error, 'conflict') || StudioError.is(error, 'forbidden')) return false;
    throw error;
  }
}

/** Reports how a cluster limits what pods of its namespace can do. */
import type { ObjectOf } from '../../kubernetes/access/objects.ts';
import { missingPodSecurity } from '../../kubernetes/security/podSecurity.ts';
import type { TargetFinding } from './targetStatus.ts';

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

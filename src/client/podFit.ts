/** Whether the pods of a batch fit on a node of a cluster. Pure. */
import { bytes } from '../common/units.ts';
import type { SubmittedPods } from '../config/submission.ts';
import { toolResources, workerResources } from '../executor/kubernetes/podResources.ts';
import { podSizing, type SizedBatch } from '../executor/kubernetes/sizing.ts';
import type { Node } from '../kubernetes/access/objects.ts';
import { parseQuantity } from '../kubernetes/quantity.ts';

/** By resource: the most that one node has for pods. */
export type LargestAmounts = Readonly<Record<string, number>>;

/** Names of resources that are bytes. */
const SIZES: Readonly<Record<string, string>> = { memory: 'memory', 'ephemeral-storage': 'disk' };

/** Returns undefined if no node accepts pods with this selector. */
export function largestAmounts(
  nodes: readonly Node[],
  nodeSelector: Readonly<Record<string, string>> = {},
): LargestAmounts | undefined {
  const usable = nodes.filter(
    ({ spec, metadata }) =>
      spec?.unschedulable !== true &&
      Object.entries(nodeSelector).every(([key, value]) => metadata.labels?.[key] === value),
  );
  if (usable.length === 0) return undefined;
  const largest: Record<string, number> = {};
  for (const { status } of usable)
    for (const [resource, amount] of Object.entries(status?.allocatable ?? {}))
      largest[resource] = Math.max(largest[resource] ?? 0, parseQuantity(amount) ?? 0);
  return largest;
}

/** Whether a batch file says what its pods request, so that it is worth asking for nodes. */
export function saysResources({ requests, limits }: Pick<SubmittedPods, 'requests' | 'limits'> = {}): boolean {
  return requests !== undefined || limits !== undefined;
}

/**
 * Returns a sentence if no node could run a pod of the batch, at least without other pods on it. A cluster that adds
 * nodes by itself may still get one. `slots`: concurrent rollouts of a pod.
 */
export function podShortage(
  pods: Pick<SubmittedPods, 'requests' | 'limits'>,
  slots: number,
  largest: LargestAmounts,
): string | undefined {
  const needed: Record<string, number> = {};
  // A limit without a request is one.
  for (const { requests, limits } of [toolResources(pods, slots), workerResources(pods, slots)])
    for (const [resource, amount] of Object.entries({ ...limits, ...requests }))
      needed[resource] = (needed[resource] ?? 0) + (parseQuantity(amount) ?? 0);
  for (const [resource, amount] of Object.entries(needed)) {
    const most = largest[resource] ?? (resource.includes('/') ? 0 : Infinity);
    if (amount <= most) continue;
    const has = most === 0 ? 'no node has any' : `the largest node has ${amountText(resource, most)}`;
    return `A pod of this batch requests ${amountText(resource, amount)}, but ${has}.`;
  }
  return undefined;
}

/** Returns what `podShortage` says of a batch with a number of attempts. */
export function batchShortage(
  batch: SizedBatch & { readonly pods: Pick<SubmittedPods, 'requests' | 'limits' | 'count' | 'isolation'> },
  attempts: number,
  largest: LargestAmounts,
): string | undefined {
  return podShortage(batch.pods, podSizing(batch, attempts, true).slots, largest);
}

function amountText(resource: string, amount: number): string {
  const size = SIZES[resource];
  if (size !== undefined) return `${bytes(amount)} of ${size}`;
  const number = Math.round(amount * 100) / 100;
  return resource === 'cpu' ? `${number} CPU${number === 1 ? '' : 's'}` : `${number} ${resource}`;
}

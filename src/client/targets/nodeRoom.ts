/** Checks before a launch on a cluster that a node can run its pods, and hold the files that its tasks attach. */
import { StudioError } from '../../common/errors.ts';
import type { Submission } from '../../config/submission.ts';
import { requireRoom, sureBytes } from '../../executor/kubernetes/scratch.ts';
import { podSizing } from '../../executor/kubernetes/sizing.ts';
import type { Node } from '../../kubernetes/access/objects.ts';
import { parseQuantity } from '../../kubernetes/quantity.ts';
import type { TaskRecord } from '../../trace/task.ts';
import { largestAmounts, podShortage, saysResources } from '../podFit.ts';
import { clusterRef, type Target } from './target.ts';

/** Every node has that much. */
const LITTLE = 1024 * 1024 * 1024;

/**
 * Throws StudioError `config` if no node could hold the files of the tasks. Returns a sentence if no node could run a
 * pod. Asks the cluster only if files are large or the batch says what its pods request, and lets the launch go on if
 * the user may not read nodes.
 */
export async function requireNodeRoom(
  [name, target]: readonly [name: string, target: Target],
  submission: Submission,
  tasks: readonly TaskRecord[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const files = Math.max(0, ...tasks.map((task) => (task.files ?? []).reduce((sum, { bytes }) => sum + bytes, 0)));
  const attached = { files, state: 0 };
  const { slots } = podSizing(submission, tasks.length * submission.attempts, true);
  const { pods } = submission;
  if ('url' in target || (sureBytes(attached, slots) < LITTLE && !saysResources(pods))) return undefined;
  const { Cluster } = await import('../../kubernetes/access/cluster.ts');
  const cluster = await Cluster.open(clusterRef(name, target));
  try {
    const nodes = await cluster.list('Node', { signal });
    const disk = largestDisk(nodes, pods?.node_selector);
    if (disk !== undefined) requireRoom(submission, attached, slots, disk);
    const largest = largestAmounts(nodes, pods?.node_selector);
    return pods === undefined || largest === undefined ? undefined : podShortage(pods, slots, largest);
  } catch (error) {
    if (!StudioError.is(error, 'forbidden') && !StudioError.is(error, 'unavailable')) throw error;
    return undefined;
  } finally {
    cluster.close();
  }
}

/** Returns the disk of the largest node that accepts pods with a selector; undefined if there is none to ask about. */
export function largestDisk(
  nodes: readonly Node[],
  nodeSelector: Readonly<Record<string, string>> = {},
): Parameters<typeof requireRoom>[3] {
  const sizes = nodes
    .filter(({ spec }) => spec?.unschedulable !== true)
    .filter(({ metadata }) => Object.entries(nodeSelector).every(([key, value]) => metadata.labels?.[key] === value))
    .flatMap(({ status }) => parseQuantity(status?.allocatable?.['ephemeral-storage'] ?? '') ?? []);
  if (sizes.length === 0) return undefined;
  return {
    text: 'the largest node that they may use has',
    bytes: Math.max(...sizes),
    remedy: 'Add larger nodes, or select them with `pods.node_selector`',
  };
}

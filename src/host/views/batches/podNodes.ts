/** The items of the Batches view for the pods of a batch: pods, their containers, and the rollouts that run there. */
import type { BatchPods } from '../../../client/batchPods.ts';
import { containerItem, gonePodItem, podItem, podsItem } from '../../pods/podItems.ts';
import { type ItemContent, OUTCOME_ICONS } from '../itemContent.ts';

/** Commands read `batch`, `pod`, and `container`. */
export interface PodsNode {
  readonly kind: 'pods';
  readonly batch: string;
}
export interface PodNode {
  readonly kind: 'pod';
  readonly batch: string;
  readonly pod: string;
}
export interface ContainerNode {
  readonly kind: 'container';
  readonly batch: string;
  readonly pod: string;
  readonly container: string;
}
export interface PodRolloutNode {
  readonly kind: 'podRollout';
  readonly batch: string;
  readonly pod: string;
  readonly rollout: string;
}
/** Says why there are no pods, or that there are more rollouts. */
export interface PodTextNode {
  readonly kind: 'podText';
  readonly batch: string;
  readonly text: string;
}
export type AnyPodNode = PodsNode | PodNode | ContainerNode | PodRolloutNode | PodTextNode;

const MAX_ROLLOUTS = 20;

/** Returns what identifies an item in the tree. */
export function podNodeId(node: AnyPodNode): string {
  const parts = ['pods', node.batch];
  if ('pod' in node) parts.push(node.pod);
  if ('container' in node) parts.push('container', node.container);
  if ('rollout' in node) parts.push('rollout', node.rollout);
  if ('text' in node) parts.push('text', node.text);
  return parts.join('/');
}

interface PodRow {
  readonly content: ItemContent;
  readonly hasChildren: boolean;
  /** The rollout that a click opens. */
  readonly opens?: string;
}

/** Returns what an item shows; undefined if its pod is not among `pods`. */
export function podRow(node: AnyPodNode, pods: BatchPods | undefined): PodRow | undefined {
  if (node.kind === 'pods') return { content: podsItem(pods), hasChildren: true };
  if (node.kind === 'podText')
    return {
      content: { label: node.text, tooltip: node.text, icon: { id: 'info' }, ariaLabel: node.text },
      hasChildren: false,
    };
  const pod = pods?.pods.find(({ name }) => name === node.pod);
  if (node.kind === 'pod') {
    if (pod !== undefined)
      return { content: podItem(pod), hasChildren: pod.containers.length + pod.rollouts.length > 0 };
    const gone = pods?.gone.find(({ name }) => name === node.pod);
    return gone === undefined ? undefined : { content: gonePodItem(gone), hasChildren: false };
  }
  if (node.kind === 'container') {
    const container = pod?.containers.find(({ name }) => name === node.container);
    return container === undefined ? undefined : { content: containerItem(container), hasChildren: false };
  }
  const rollout = pod?.rollouts.find((each) => each.rollout === node.rollout);
  if (rollout === undefined) return undefined;
  const { task, attempt, held } = rollout;
  return {
    content: {
      label: `${task} · attempt ${attempt}`,
      ...(held ? { description: 'held' } : {}),
      tooltip: rollout.rollout,
      icon: held ? OUTCOME_ICONS.held : OUTCOME_ICONS.running,
      context: 'podRollout',
      ariaLabel: `Attempt ${attempt} of ${task}, ${held ? 'held' : 'running'}`,
    },
    hasChildren: false,
    opens: rollout.rollout,
  };
}

export function podChildren(node: AnyPodNode, pods: BatchPods): AnyPodNode[] {
  const { batch } = node;
  if (node.kind === 'pods') {
    const children = [...pods.pods, ...pods.gone].map(({ name }): PodNode => ({ kind: 'pod', batch, pod: name }));
    const { text } = pods;
    return text === undefined ? children : [{ kind: 'podText', batch, text }, ...children];
  }
  if (node.kind !== 'pod') return [];
  const pod = pods.pods.find(({ name }) => name === node.pod);
  if (pod === undefined) return [];
  const more = pod.rollouts.length - MAX_ROLLOUTS;
  return [
    ...pod.containers.map(({ name }): ContainerNode => ({ kind: 'container', batch, pod: pod.name, container: name })),
    ...pod.rollouts
      .slice(0, MAX_ROLLOUTS)
      .map(({ rollout }): PodRolloutNode => ({ kind: 'podRollout', batch, pod: pod.name, rollout })),
    ...(more > 0 ? [{ kind: 'podText' as const, batch, text: `and ${more} more rollouts` }] : []),
  ];
}

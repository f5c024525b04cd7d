import type { Grant } from '../../protocol/worker.ts';
import type { EventData } from '../../trace/schema.ts';

/** Returns what `rollout.start` says about a rollout that its worker could not start. */
export function startData({ batch, task, attempt, try: number, fork, rescores }: Grant): EventData['rollout.start'] {
  return {
    batch,
    task: task.id,
    attempt,
    try: number,
    ...(fork === undefined ? {} : { fork }),
    ...(rescores === undefined ? {} : { rescores }),
  };
}

/** Returns the number of events that a rollout shares with the parent of its fork, or with what it scores again. */
export function sharedEvents({ fork, rescores }: Pick<Grant, 'fork' | 'rescores'>): number {
  return (fork ?? rescores)?.seq ?? 0;
}

import type { Grant } from '../../protocol/worker.ts';
import type { EventData } from '../../trace/schema.ts';

/** Returns what `rollout.start` says about a rollout that its worker could not start. */
export function startData({ batch, task, attempt, try: number, fork }: Grant): EventData['rollout.start'] {
  return { batch, task: task.id, attempt, try: number, ...(fork === undefined ? {} : { fork }) };
}

/** What a command was called on: a row of a tree, an id, a reference, a place. */
import { z } from 'zod';
import { type PagePlace, pagePlace } from '../../protocol/page.ts';

const id = z.string().min(1);
const rollout = z
  .object({ rollout: id })
  .transform(({ rollout: of }): PagePlace => ({ page: 'trajectory', rollout: of }));
const attempt = z
  .object({ batch: id, task: id, attempt: z.number().int().min(1) })
  .transform((of) => `${of.batch}/${of.task}/${of.attempt}`);
/** A task has no page of its own: its batch's, where only its attempts are left. */
const task = z
  .object({ batch: id, task: id })
  .transform((of): PagePlace => ({ page: 'batch', batch: of.batch, filter: of.task }));
const batch = z.object({ batch: id }).transform((of): PagePlace => ({ page: 'batch', batch: of.batch }));
const ofTask = z.object({ batch: id, task: id }).transform((of): TaskWanted => ({ batch: of.batch, task: of.task }));
const ofRollout = z.object({ rollout: id }).transform((of): TaskWanted => ({ rollout: of.rollout }));
const wanted = z.union([
  id.transform((reference): TaskWanted => ({ reference })),
  ofTask,
  ofRollout,
  z.object({ batch: id }).transform((of): TaskWanted => ({ batch: of.batch })),
]);
const row = z.union([id, pagePlace, rollout, attempt, task, batch]);
/** Items of trees hold the row they show. */
const argument = z.union([row, z.object({ row }).transform((of) => of.row)]);
const taskArgument = z.union([wanted, z.object({ row: wanted }).transform((of) => of.row)]);

/**
 * Whose attempts are compared: a task, that of a rollout or of a reference, or one of a batch that is still to be
 * chosen.
 */
export interface TaskWanted {
  readonly batch?: string;
  readonly task?: string;
  readonly rollout?: string;
  readonly reference?: string;
}

/** undefined when it names nothing that has tasks. */
export function argumentTask(value: unknown): TaskWanted | undefined {
  return taskArgument.safeParse(value).data;
}

/** A place, or a reference that has to be looked up; undefined when there is neither. */
export function argumentPlace(value: unknown): PagePlace | string | undefined {
  const parsed = argument.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

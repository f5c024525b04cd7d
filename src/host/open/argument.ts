/** Parses command arguments: a tree row, an ID, a reference, or a place. */
import { z } from 'zod';
import { type PagePlace, pagePlace } from '../../protocol/page.ts';

const id = z.string().min(1);
const rollout = z
  .object({ rollout: id })
  .transform(({ rollout: of }): PagePlace => ({ page: 'trajectory', rollout: of }));
const attempt = z
  .object({ batch: id, task: id, attempt: z.number().int().min(1) })
  .transform((of) => `${of.batch}/${of.task}/${of.attempt}`);
/** A task opens its batch's page, filtered to its attempts. */
const task = z
  .object({ batch: id, task: id })
  .transform((of): PagePlace => ({ page: 'batch', batch: of.batch, filter: of.task }));
const batch = z.object({ batch: id }).transform((of): PagePlace => ({ page: 'batch', batch: of.batch }));
const taskReference = z.object({ batch: id, task: id, rollout: id.optional().catch(undefined) }).transform(
  (of): TaskReference => ({
    batch: of.batch,
    task: of.task,
    ...(of.rollout === undefined ? {} : { rollout: of.rollout }),
  }),
);
const rolloutReference = z.object({ rollout: id }).transform((of): TaskReference => ({ rollout: of.rollout }));
const comparable = z.union([
  id.transform((reference): TaskReference => ({ reference })),
  taskReference,
  rolloutReference,
  z.object({ batch: id }).transform((of): TaskReference => ({ batch: of.batch })),
]);
const row = z.union([id, pagePlace, rollout, attempt, task, batch]);
/** Tree items contain the row they show. */
const argument = z.union([row, z.object({ row }).transform((of) => of.row)]);
const taskArgument = z.union([comparable, z.object({ row: comparable }).transform((of) => of.row)]);

/**
 * The task whose attempts to compare: a task, the task of a rollout or reference, or a task of a batch to choose. A
 * rollout is compared with the others.
 */
export interface TaskReference {
  readonly batch?: string;
  readonly task?: string;
  readonly rollout?: string;
  readonly reference?: string;
}

/** Returns undefined if the argument does not identify a task or batch. */
export function argumentTask(value: unknown): TaskReference | undefined {
  return taskArgument.safeParse(value).data;
}

/** Returns a place, a reference to look up, or undefined. */
export function argumentPlace(value: unknown): PagePlace | string | undefined {
  const parsed = argument.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

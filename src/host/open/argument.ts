/** What a command was called on: a row of a tree, an id, a reference, a place. */
import { z } from 'zod';
import { pagePlace, type PagePlace } from '../../protocol/page.ts';

const id = z.string().min(1);
const rollout = z.object({ rollout: id }).transform(({ rollout: of }): PagePlace => ({ page: 'trajectory', rollout: of }));
const attempt = z.object({ batch: id, task: id, attempt: z.number().int().min(1) }).transform((of) => `${of.batch}/${of.task}/${of.attempt}`);
/** A task has no page of its own: its batch's, where only its attempts are left. */
const task = z.object({ batch: id, task: id }).transform((of): PagePlace => ({ page: 'batch', batch: of.batch, filter: of.task }));
const batch = z.object({ batch: id }).transform((of): PagePlace => ({ page: 'batch', batch: of.batch }));
const row = z.union([id, pagePlace, rollout, attempt, task, batch]);
/** Items of trees hold the row they show. */
const argument = z.union([row, z.object({ row }).transform((of) => of.row)]);

/** A place, or a reference that has to be looked up; undefined when there is neither. */
export function argumentPlace(value: unknown): PagePlace | string | undefined {
  const parsed = argument.safeParse(value);
  return parsed.success ? parsed.data : undefined;
}

/** Parses the argument of launch commands: a file, a file with tasks, or a tree row. */
import path from 'node:path';
import { z } from 'zod';
import type { ChosenTasks } from './plan.ts';

/** A `vscode.Uri`, possibly serialized. */
const uri = z.object({ scheme: z.literal('file'), fsPath: z.string().min(1) }).transform(({ fsPath }) => fsPath);
const file = z.union([uri, z.string().refine((text) => path.isAbsolute(text))]);
const tasks = z.union([z.string().transform((id) => [id]), z.array(z.string()).min(1)]);
const fileArgument = z.union([
  file.transform((path) => ({ file: path, task: undefined })),
  z.object({ file, task: tasks.optional() }),
]);
const taskOfBatch = z.object({ batch: z.string().min(1), task: z.string().min(1) });

export type LaunchTarget =
  | { readonly kind: 'file'; readonly file: string; readonly tasks?: ChosenTasks }
  | { readonly kind: 'task'; readonly batch: string; readonly task: string };

export function launchTarget(value: unknown): LaunchTarget | undefined {
  const batchTask = taskOfBatch.safeParse(value);
  if (batchTask.success) return { kind: 'task', ...batchTask.data };
  const parsedFile = fileArgument.safeParse(value);
  if (!parsedFile.success) return undefined;
  const { file: path, task } = parsedFile.data;
  return { kind: 'file', file: path, ...(task === undefined ? {} : { tasks: { kind: 'some', ids: [...task] } }) };
}

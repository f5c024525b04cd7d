import { removeTree } from '../disk/removeTree.ts';
import type { ProcessGroups } from './processes/processGroups.ts';

/** Removes a folder that programs wrote to, in pods first what only their user may remove. */
export async function removeProgramsFolder(folder: string, { toolServer }: ProcessGroups): Promise<void> {
  await toolServer?.clear(folder);
  await removeTree(folder).catch(() => undefined); // what is left ends with the worker's folder
}

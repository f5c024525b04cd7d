import path from 'node:path';
import { requireWithin } from '../client/confined.ts';

/** Resolves a file path. Throws StudioError `forbidden` if its real path is outside the workspace folder. */
export async function workspaceFile(folder: string, file: string): Promise<string> {
  await requireWithin(folder, file);
  return path.resolve(folder, file);
}

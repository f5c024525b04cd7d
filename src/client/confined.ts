/** Confines what can be read to one folder, by real paths: symbolic links and `..` do not lead out of it. */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { isMissing, StudioError } from '../common/errors.ts';
import type { Files } from '../config/files.ts';

/**
 * Throws StudioError `forbidden` if the real path of `file` is outside `folder`. A missing file counts where it would
 * be.
 */
export async function requireWithin(folder: string, file: string): Promise<void> {
  const [root, real] = await Promise.all([realOf(path.resolve(folder)), realOf(path.resolve(folder, file))]);
  const below = path.relative(root, real);
  if (below !== '..' && !below.startsWith(`..${path.sep}`) && !path.isAbsolute(below)) return;
  throw new StudioError('forbidden', `${file} is outside the workspace ${folder}.`, {
    hint: 'Use a file in the workspace, or start rollout mcp with another --folder.',
  });
}

/** Returns the real path of the longest part that exists, with the rest appended. */
async function realOf(file: string): Promise<string> {
  try {
    return await realpath(file);
  } catch (error) {
    const parent = path.dirname(file);
    if (parent === file) return file;
    if (!isMissing(error)) throw error;
    return path.join(await realOf(parent), path.basename(file));
  }
}

/** Returns `files` without everything outside `folder`. */
export function confinedFiles(files: Files, folder: string): Files {
  const check = (file: string): Promise<void> => requireWithin(folder, files.absolute(file));
  return {
    ...files,
    async readText(file) {
      await check(file);
      return files.readText(file);
    },
    async *bytes(file) {
      await check(file);
      yield* files.bytes(file);
    },
    async stat(file) {
      await check(file);
      return files.stat(file);
    },
    async list(file) {
      await check(file);
      return files.list(file);
    },
  };
}

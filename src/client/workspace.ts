/** What a submission tells of where it came from: the workspace's root and its commit. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const GIT_TIMEOUT_MS = 5_000;
/** A folder with one of these is the root of what lies below it. */
const MARKERS = ['.rollout', '.git', 'package.json', 'tsconfig.json'];

/**
 * The nearest folder above a file that looks like a workspace; else `otherwise` when the file is below it, else its own
 * folder.
 */
export function workspaceRoot(file: string, otherwise: string): string {
  for (let folder = path.dirname(path.resolve(file)); ; folder = path.dirname(folder)) {
    if (MARKERS.some((name) => existsSync(path.join(folder, name)))) return folder;
    if (folder === path.dirname(folder)) break;
  }
  const below = path.relative(otherwise, path.resolve(file));
  return below.startsWith('..') || path.isAbsolute(below) ? path.dirname(path.resolve(file)) : otherwise;
}

/** The commit of a work tree, and whether files differ from it; undefined without git or outside a repository. */
export async function gitState(folder: string): Promise<{ commit: string; dirty: boolean } | undefined> {
  try {
    const options = { cwd: folder, timeout: GIT_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 };
    const commit = (await run('git', ['rev-parse', 'HEAD'], options)).stdout.trim();
    const { stdout } = await run('git', ['status', '--porcelain', '--untracked-files=normal'], options);
    return { commit, dirty: stdout.trim() !== '' };
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

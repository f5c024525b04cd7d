/** Finds the origin of a submission: the workspace's root and its commit. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const GIT_TIMEOUT_MS = 5_000;
/** A folder that contains one of these is a workspace root. */
const MARKERS = ['.rollout', '.git', 'package.json', 'tsconfig.json'];

/**
 * Returns the nearest parent folder that looks like a workspace root. If there is none, returns `fallback` if it
 * contains the file, or else the file's folder.
 */
export function workspaceRoot(file: string, fallback: string): string {
  for (let folder = path.dirname(path.resolve(file)); ; folder = path.dirname(folder)) {
    if (MARKERS.some((name) => existsSync(path.join(folder, name)))) return folder;
    if (folder === path.dirname(folder)) break;
  }
  const below = path.relative(fallback, path.resolve(file));
  return below.startsWith('..') || path.isAbsolute(below) ? path.dirname(path.resolve(file)) : fallback;
}

/** Returns the commit of a work tree and whether it has changes, or undefined without git or a repository. */
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

import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { ClassedError } from '../../trace/classedError.ts';

/**
 * Resolves a path from a model and checks that it is inside the folder, following links. For a path that does not
 * exist yet, checks its nearest existing parent. Throws ClassedError `tool_error`.
 *
 * This protects against mistakes of a model, not against a program that replaces folders with links at the same time;
 * only a pod does.
 */
export async function confine(folder: string, input: string): Promise<string> {
  const { root, target } = await lexical(folder, input);
  // Follows links in the middle of the path, and dangling ones.
  const real = await realNearest(target);
  if (real === undefined || !isInside(root, real)) throw outside(input);
  return real;
}

/** Like `confine`, but does not follow a link at the end. Rejects the folder itself. */
export async function confineEntry(folder: string, input: string): Promise<string> {
  const { root, target } = await lexical(folder, input);
  const folderPath = target === root ? undefined : await realNearest(path.dirname(target));
  if (folderPath === undefined || !isInside(root, folderPath)) throw outside(input);
  return path.join(folderPath, path.basename(target));
}

async function lexical(folder: string, input: string): Promise<{ root: string; target: string }> {
  const root = await realpath(folder);
  const target = path.resolve(root, input);
  if (input.includes('\0') || !isInside(root, target)) throw outside(input);
  return { root, target };
}

/** Returns the real path of the nearest existing parent plus the rest; undefined for a dangling link. */
async function realNearest(target: string): Promise<string | undefined> {
  const rest: string[] = [];
  for (let current = target; ; current = path.dirname(current)) {
    try {
      return path.join(await realpath(current), ...rest);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      const parent = path.dirname(current);
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || parent === current) throw error;
      // Writing through a dangling link would create a file wherever it points.
      if (await isLink(current)) return undefined;
      rest.unshift(path.basename(current));
    }
  }
}

async function isLink(file: string): Promise<boolean> {
  return (await lstat(file).catch(() => undefined))?.isSymbolicLink() ?? false;
}

function isInside(root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative === '' || (!path.isAbsolute(relative) && relative !== '..' && !relative.startsWith(`..${path.sep}`));
}

function outside(input: string): ClassedError {
  return new ClassedError('tool_error', `"${input}" is outside the working directory. Use paths relative to it.`);
}

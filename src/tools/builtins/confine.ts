import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import { ClassedError } from '../../trace/classedError.ts';

/**
 * The absolute path that a model's path means, when it lies in the folder; links count as what they lead to.
 * What does not exist yet is judged by the nearest folder above it that does. Throws ClassedError `tool_error`.
 *
 * This holds against what a model writes by mistake. A program that exchanges folders for links meanwhile is not
 * held by it; only a pod is.
 */
export async function confine(folder: string, given: string): Promise<string> {
  const { root, wanted } = await lexical(folder, given);
  // Also through a link in the middle, or one that leads nowhere yet.
  const real = await realNearest(wanted);
  if (real === undefined || !isInside(root, real)) throw outside(given);
  return real;
}

/** As `confine`, for the entry itself: a link is the link, not what it leads to. The folder itself is refused. */
export async function confineEntry(folder: string, given: string): Promise<string> {
  const { root, wanted } = await lexical(folder, given);
  const above = wanted === root ? undefined : await realNearest(path.dirname(wanted));
  if (above === undefined || !isInside(root, above)) throw outside(given);
  return path.join(above, path.basename(wanted));
}

async function lexical(folder: string, given: string): Promise<{ root: string; wanted: string }> {
  const root = await realpath(folder);
  const wanted = path.resolve(root, given);
  if (given.includes('\0') || !isInside(root, wanted)) throw outside(given);
  return { root, wanted };
}

/** The real path of the nearest part that exists, with the rest put behind it; undefined when a link leads nowhere. */
async function realNearest(wanted: string): Promise<string | undefined> {
  const rest: string[] = [];
  for (let current = wanted; ; current = path.dirname(current)) {
    try {
      return path.join(await realpath(current), ...rest);
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      const parent = path.dirname(current);
      if ((code !== 'ENOENT' && code !== 'ENOTDIR') || parent === current) throw error;
      // Writing through a link that leads nowhere would make a file wherever it points.
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

function outside(given: string): ClassedError {
  return new ClassedError('tool_error', `"${given}" is outside of the working directory. Give paths relative to it.`);
}

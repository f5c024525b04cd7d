/** Paths a source file of a trajectory may have on this machine, best first. */
import path from 'node:path';
import type { SubmittedModule } from '../config/submission.ts';

/**
 * `file` is relative to the workspace that was submitted, with `/`. A submitted module knows its absolute path, which
 * tells that workspace's folder for all other files, too.
 */
export function candidatesOf(
  file: string,
  modules: readonly Pick<SubmittedModule, 'file' | 'path'>[],
  folders: readonly string[],
): string[] {
  if (path.isAbsolute(file)) return [file];
  const own = modules.flatMap((module) => (module.file === file && module.path !== undefined ? [module.path] : []));
  const roots = modules.flatMap((module) => {
    const root = module.path === undefined ? undefined : rootOf(module.path, module.file);
    return root === undefined ? [] : [root];
  });
  const parts = file.split('/');
  return [...new Set([...own, ...[...roots, ...folders].map((root) => path.join(root, ...parts))])];
}

/** The folder that `file` is relative to, when it lies at `absolute`. */
export function rootOf(absolute: string, file: string): string | undefined {
  const end = path.sep + file.split('/').join(path.sep);
  return absolute.endsWith(end) ? absolute.slice(0, -end.length) : undefined;
}

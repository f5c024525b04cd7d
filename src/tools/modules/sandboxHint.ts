/** Explains errors of user code that the sandbox causes: to the code, files outside of it do not exist. */
import path from 'node:path';
import type { SubmittedSandbox } from '../../config/submission.ts';

/** Why an operation on a file failed. */
export interface FileFailure {
  /** Code of the system's error, e.g. `ENOENT`. */
  readonly code: string;
  readonly path: string;
}

/** What is the same inside and outside, or the sandbox's own. */
const EVERYWHERE = ['/usr', '/bin', '/sbin', '/lib', '/etc', '/opt', '/nix', '/proc', '/dev'];

/**
 * Returns what to change in the batch file so that the operation may succeed; undefined if the sandbox is not the
 * cause. Does not look at the file: an agent that can choose paths must not learn which ones exist.
 */
export function sandboxHint(
  { code, path: file }: FileFailure,
  { read, write }: Pick<SubmittedSandbox, 'read' | 'write'>,
  cwd: string,
): string | undefined {
  if (!path.isAbsolute(file)) return undefined;
  const isIn = (folders: readonly string[]): boolean =>
    folders.some((folder) => file === folder || file.startsWith(`${folder}${path.sep}`));
  if (isIn([cwd, ...write, ...EVERYWHERE])) return undefined;
  if (code === 'EROFS') return 'Only the working directory and sandbox.write of the batch can be changed.';
  if (!['ENOENT', 'EACCES', 'EPERM'].includes(code) || isIn(read)) return undefined;
  return 'Modules run in a sandbox. If it exists, add it or its folder to sandbox.read or sandbox.write of the batch.';
}

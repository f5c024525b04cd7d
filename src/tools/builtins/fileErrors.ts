import { systemCodeOf } from '../../common/errors.ts';
import { ClassedError } from '../../trace/classedError.ts';

/** Runs `act` and turns file system errors into messages for a model. */
export async function withFileErrors<T>(file: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ClassedError) throw error;
    const text = REASONS[systemCodeOf(error) ?? ''] ?? (error instanceof Error ? plainMessage(error) : String(error));
    throw new ClassedError('tool_error', `${file}: ${text}`, { cause: error });
  }
}

/** A message of the system ends with a path that only the worker knows: `EROFS: read-only file system, open '/…'`. */
function plainMessage({ message }: Error): string {
  return /^E[A-Z0-9]+: ([^,]+), \w+ '/.exec(message)?.[1] ?? message;
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'already exists',
  ENOENT: 'no such file or folder',
  ENOTDIR: 'part of the path is a file, not a folder',
  EISDIR: 'is a folder',
  ENOTEMPTY: 'the folder is not empty',
  EACCES: 'access is denied',
  EPERM: 'operation not permitted',
  ENOSPC: 'the disk is full',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'a link leads to itself, or a program changes the path at the same time',
};

import { ClassedError } from '../../trace/classedError.ts';

/** Runs `act` and turns file system errors into messages for a model. */
export async function withFileErrors<T>(file: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ClassedError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const text = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
    throw new ClassedError('tool_error', `${file}: ${text}`, { cause: error });
  }
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
};

import { ClassedError } from '../../trace/classedError.ts';

/** What the file system refuses, in words for a model. */
export async function withFileErrors<T>(given: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ClassedError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const text = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
    throw new ClassedError('tool_error', `${given}: ${text}`, { cause: error });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'it exists already',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EISDIR: 'this is a folder',
  ENOTEMPTY: 'the folder is not empty',
  EACCES: 'access is denied',
  EPERM: 'this is not permitted',
  ENOSPC: 'the disk is full',
  ENAMETOOLONG: 'the name is too long',
};

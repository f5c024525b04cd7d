import { StudioError } from '../../common/errors.ts';
import { RESTORE } from '../sql/row.ts';

const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const NOTADB = 26;

/**
 * Converts errors of SQLite and the file system to errors for people. `details.full` marks a full disk. Returns other
 * errors unchanged.
 */
export function sqliteError(thrown: unknown, folder: string): unknown {
  if (!(thrown instanceof Error) || StudioError.is(thrown)) return thrown;
  const code = sqliteCode(thrown);
  const cause = thrown;
  if (code === undefined) {
    const system: unknown = Reflect.get(thrown, 'code');
    if (system === 'ENOSPC' || system === 'EDQUOT') return full(folder, cause);
    if (typeof system === 'string' && /^E[A-Z]+$/.test(system)) {
      return new StudioError('storage', `Cannot open the store in ${folder}: ${thrown.message}.`, {
        hint: 'Check the folder and its permissions.',
        cause,
      });
    }
    return thrown;
  }
  switch (code) {
    case FULL:
      return full(folder, cause);
    case BUSY:
    case LOCKED:
      return new StudioError('storage', `The store in ${folder} is locked by another program.`, {
        hint: 'Close the program that has its store.db open, then try again.',
        cause,
      });
    case READONLY:
    case CANTOPEN:
      return new StudioError('storage', `Cannot write to the store in ${folder}: ${thrown.message}.`, {
        hint: 'Check that the folder exists and that you can write to it.',
        cause,
      });
    case CORRUPT:
    case NOTADB:
      return new StudioError('storage', `The store in ${folder} is damaged: ${thrown.message}.`, {
        hint: RESTORE,
        cause,
      });
    case IOERR:
      return new StudioError('storage', `The disk with the store ${folder} failed: ${thrown.message}.`, {
        hint: 'Check the disk and its free space, then try again.',
        cause,
      });
    default:
      return new StudioError('storage', `The store in ${folder} failed: ${thrown.message}.`, { cause });
  }
}

function full(folder: string, cause: Error): StudioError {
  return new StudioError('storage', `The disk with the store ${folder} is full. No recorded data is lost.`, {
    hint: 'Free some disk space. Work then continues automatically.',
    details: { full: true },
    cause,
  });
}

/** The primary result code, without the extended part. */
function sqliteCode(error: Error): number | undefined {
  const code: unknown = Reflect.get(error, 'errcode');
  return typeof code === 'number' ? code & 0xff : undefined;
}

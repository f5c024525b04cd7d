/**
 * Reads files that people and agents name. A pipe or a device may never end, or block the thread that opens it, so only
 * regular files are read, and only up to a size. Follows links.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { StudioError, systemCodeOf } from '../common/errors.ts';

/** Larger than any file that people write by hand, and than a prompt or a tool's module. Datasets are streamed. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024;
const MIB = 1024 * 1024;

/** Opening a pipe waits for its other end without this flag, which Windows does not have. */
const NO_WAIT = process.platform === 'win32' ? 0 : constants.O_NONBLOCK;
const FLAGS = constants.O_RDONLY | NO_WAIT;

/** A file that is open for reading. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

/** Opens a file, with more `flags`. Throws StudioError `config` if it is not regular, and what the system throws. */
export async function openRegular(file: string, flags = 0): Promise<OpenFile> {
  const handle = await open(file, FLAGS | flags);
  try {
    return { handle, stats: checked(await handle.stat()) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Returns what a file contained when it was opened: a program may append to it without end. */
export async function contentOf({ handle, stats: { size } }: OpenFile): Promise<Buffer> {
  const content = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const { bytesRead } = await handle.read(content, length, size - length, length);
    if (bytesRead === 0) break; // it has become shorter
    length += bytesRead;
  }
  return content.subarray(0, length);
}

/** Reads a whole file. Throws StudioError `config` if it is not regular or too large, and what the system throws. */
export async function readRegular(file: string, limit = MAX_TEXT_BYTES): Promise<Buffer> {
  const { handle, stats } = await openRegular(file);
  try {
    checkSize(stats.size, limit);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/**
 * Writes a file, which is created if necessary. `flags`: whether to replace, continue, or refuse an existing one.
 * Throws StudioError `config` if something else has its name, and what the system throws.
 */
export async function writeRegular(
  file: string,
  content: string | Uint8Array | AsyncIterable<Uint8Array>,
  flags: number,
): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT | NO_WAIT | flags).catch((error: unknown) => {
    throw systemCodeOf(error) === 'ENXIO' ? notRegular() : error; // a pipe that nobody reads
  });
  try {
    checked(await handle.stat());
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
}

/** Like `readRegular`, as text. */
export function readRegularSync(file: string, limit = MAX_TEXT_BYTES): string {
  const handle = openSync(file, FLAGS);
  try {
    checkSize(checked(fstatSync(handle)).size, limit);
    return readFileSync(handle, 'utf8');
  } finally {
    closeSync(handle);
  }
}

/** A folder is reported by whoever reads it. */
function checked(stats: Stats): Stats {
  if (stats.isFile() || stats.isDirectory()) return stats;
  throw notRegular();
}

function notRegular(): StudioError {
  return new StudioError('config', 'it is not a regular file', { hint: 'Use a file, not a pipe or a device.' });
}

function checkSize(size: number, limit: number): void {
  if (size <= limit) return;
  throw new StudioError('config', `it is larger than ${Math.round(limit / MIB)} MB`, {
    hint: 'Check that it is the right file.',
  });
}

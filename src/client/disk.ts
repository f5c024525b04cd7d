/** Implements the `Files` interface of `config` on the local disk. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isMissing, StudioError, systemCodeOf } from '../common/errors.ts';
import type { Files } from '../config/files.ts';
import { openRegular, readRegular } from '../tools/regularFile.ts';

/** Resolves relative paths against `folder`. */
export function diskFiles(folder: string = process.cwd()): Files {
  const at = (file: string): string => path.resolve(folder, file);
  return {
    absolute: (file) => (path.sep === '\\' ? at(file).replaceAll('\\', '/') : at(file)),
    async readText(file) {
      const bytes = await guarded(file, () => readRegular(at(file)));
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      } catch {
        throw new StudioError('config', 'it is not UTF-8 text', { hint: 'Save the file with UTF-8 encoding.' });
      }
    },
    async *bytes(file) {
      yield* regularBytes(file, at(file));
    },
    async stat(file) {
      try {
        const stats = await stat(at(file));
        return { kind: stats.isDirectory() ? 'folder' : 'file', bytes: stats.size };
      } catch (thrown) {
        if (isMissing(thrown)) return undefined;
        throw diskError(file, thrown);
      }
    },
    async list(file) {
      try {
        const entries = await readdir(at(file), { withFileTypes: true });
        return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
      } catch (thrown) {
        if (isMissing(thrown)) return [];
        throw diskError(file, thrown);
      }
    },
  };
}

/** Yields the content of a file. `name`: its name for people. Throws StudioError `config` if it is not regular. */
export async function* regularBytes(name: string, file: string): AsyncGenerator<Uint8Array> {
  const { handle } = await guarded(name, () => openRegular(file));
  const stream = handle.createReadStream({ highWaterMark: 256 * 1024 });
  try {
    for await (const chunk of stream) yield chunk as Uint8Array; // without an encoding, chunks are bytes
  } catch (thrown) {
    throw diskError(name, thrown);
  } finally {
    stream.destroy();
  }
}

async function guarded<T>(file: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (thrown) {
    throw StudioError.is(thrown) ? thrown : diskError(file, thrown);
  }
}

/** Returns the error for a file that cannot be read. `file`: its name for people. */
export function diskError(file: string, thrown: unknown): StudioError {
  const cause = { cause: thrown };
  if (StudioError.is(thrown))
    return new StudioError(thrown.code, `${file}: ${thrown.message}.`, {
      ...cause,
      ...(thrown.hint === undefined ? {} : { hint: thrown.hint }),
    });
  switch (systemCodeOf(thrown)) {
    case 'ENOENT':
      return new StudioError('not_found', `File not found: ${file}.`, { ...cause, hint: 'Check the path.' });
    case 'EACCES':
    case 'EPERM':
      return new StudioError('forbidden', `No permission to read ${file}.`, {
        ...cause,
        hint: 'Check the permissions of the file.',
      });
    default:
      return new StudioError(
        'unavailable',
        `Cannot read ${file}: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
        { ...cause, hint: 'Check the disk.' },
      );
  }
}

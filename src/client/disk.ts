/** The disk of this machine, as `config` sees it. */
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../common/errors.ts';
import type { Files } from '../config/files.ts';

/** Paths that are not absolute are taken from `folder`. */
export function diskFiles(folder: string = process.cwd()): Files {
  const at = (file: string): string => path.resolve(folder, file);
  return {
    absolute: (file) => (path.sep === '\\' ? at(file).replaceAll('\\', '/') : at(file)),
    async readText(file) {
      const bytes = await guarded(file, () => readFile(at(file)));
      try {
        return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      } catch {
        throw new StudioError('config', 'it is not UTF-8 text', { hint: 'Save the file with the encoding UTF-8.' });
      }
    },
    async *bytes(file) {
      const stream = createReadStream(at(file), { highWaterMark: 256 * 1024 });
      try {
        for await (const chunk of stream) yield chunk as Uint8Array; // no encoding is set: chunks are bytes
      } catch (thrown) {
        throw diskError(file, thrown);
      } finally {
        stream.destroy();
      }
    },
    async stat(file) {
      try {
        const found = await stat(at(file));
        return { kind: found.isDirectory() ? 'folder' : 'file', bytes: found.size };
      } catch (thrown) {
        if (codeOf(thrown) === 'ENOENT' || codeOf(thrown) === 'ENOTDIR') return undefined;
        throw diskError(file, thrown);
      }
    },
    async list(file) {
      try {
        const entries = await readdir(at(file), { withFileTypes: true });
        return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
      } catch (thrown) {
        if (codeOf(thrown) === 'ENOENT' || codeOf(thrown) === 'ENOTDIR') return [];
        throw diskError(file, thrown);
      }
    },
  };
}

async function guarded<T>(file: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (thrown) {
    throw diskError(file, thrown);
  }
}

function codeOf(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
}

function diskError(file: string, thrown: unknown): StudioError {
  const cause = { cause: thrown };
  switch (codeOf(thrown)) {
    case 'ENOENT':
      return new StudioError('not_found', `There is no file ${file}.`, { ...cause, hint: 'Look at the path.' });
    case 'EACCES':
    case 'EPERM':
      return new StudioError('forbidden', `You may not read ${file}.`, { ...cause, hint: 'Look at its permissions.' });
    default:
      return new StudioError(
        'unavailable',
        `${file} cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
        { ...cause, hint: 'Look at the disk.' },
      );
  }
}

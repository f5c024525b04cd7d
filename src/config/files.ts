/**
 * File access of `src/config`. Implemented with Node in `client/disk.ts`, with open editors in the language server, and
 * with a map in tests. Paths are those of `paths.ts`. Methods throw StudioError: `not_found`, `forbidden`, `config` for
 * text that is not UTF-8, and `unavailable` for everything else.
 */
import { StudioError } from '../common/errors.ts';
import type { ParsedFile } from './source/parse.ts';

export interface Files {
  /** Returns the absolute path, with `/`, of a path that the user entered. */
  absolute(path: string): string;
  /** Reads a whole text file; for datasets, use `bytes`. */
  readText(path: string): Promise<string>;
  /** Reads a file in chunks, so that its size does not matter. */
  bytes(path: string): AsyncIterable<Uint8Array>;
  /** Returns undefined if the path does not exist. */
  stat(path: string): Promise<{ readonly kind: 'file' | 'folder'; readonly bytes: number } | undefined>;
  /** Lists the names in a folder, subfolders with a trailing `/`; empty if the folder does not exist. */
  list(folder: string): Promise<string[]>;
  /** Parses the text of a file incrementally, reusing its previous version. Optional. */
  parse?(path: string, text: string): ParsedFile;
}

/** Returns undefined if the text cannot be read. */
export async function textOf(files: Files, path: string): Promise<string | undefined> {
  try {
    return await files.readText(path);
  } catch (error) {
    if (StudioError.is(error)) return undefined;
    throw error;
  }
}

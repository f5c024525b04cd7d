/**
 * The disk as this room sees it. Implemented over Node in `client/disk.ts`, over open editors by a language server,
 * over a map in tests. Paths are those of `paths.ts`. Methods throw StudioError: `not_found`, `forbidden`,
 * `config` for text that is not UTF-8, `unavailable` for everything else.
 */
import type { ParsedFile } from './source/parse.ts';

export interface Files {
  /** The absolute path with `/` of a path a user gave. */
  absolute(path: string): string;
  /** A whole small text file; for datasets see `bytes`. */
  readText(path: string): Promise<string>;
  /** A file's content in pieces, so that its size does not matter. */
  bytes(path: string): AsyncIterable<Uint8Array>;
  /** undefined when there is nothing at this path. */
  stat(path: string): Promise<{ readonly kind: 'file' | 'folder'; readonly bytes: number } | undefined>;
  /** Names in a folder, those of folders with a closing `/`; none when there is no such folder. */
  list(folder: string): Promise<string[]>;
  /** Parses a text of the file, by what is remembered of its version before. Absent: every text is parsed anew. */
  parse?(path: string, text: string): ParsedFile;
}

import { constants, type Dirent, lstatSync, realpathSync } from 'node:fs';
import { readdir, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { isMissing, systemCodeOf } from '../common/errors.ts';
import { NO_LINK, PinnedFolder } from '../disk/pinnedFolder.ts';
import { ClassedError } from '../trace/classedError.ts';
import { type OpenFile, openRegular, writeRegular } from './regularFile.ts';

/** How often a path is resolved while programs replace parts of it with links, which may be honest. */
const ATTEMPTS = 8;

const WRITE_FLAGS = { replace: constants.O_TRUNC, append: constants.O_APPEND, create: constants.O_EXCL } as const;

/** What a folder contains. */
export type FolderEntry = {
  /** Relative to the listed folder, with slashes. */
  readonly path: string;
  readonly kind: 'folder' | 'file' | 'link' | 'other';
  /** Size of a file. */
  readonly bytes?: number;
};

/** An open file of a working directory. `name` is its own name, not that of a link to it. */
export type WorkFile = OpenFile & { readonly name: string };

/** Where a path leads: without links, at the time of looking. */
interface Place {
  /** The working directory. */
  readonly root: string;
  /** The folders on the way, from the working directory. */
  readonly folders: readonly string[];
  /** `.`: the working directory itself. */
  readonly name: string;
}

/**
 * The working directory of a rollout, for what runs in the worker. Paths of a model must lead inside, following links:
 * otherwise, methods throw ClassedError `tool_error`. They also throw what the system throws.
 *
 * Programs of the agent may change the directory at the same time. So links are followed only to learn the real path,
 * and what uses this path follows none (see PinnedFolder).
 */
export class WorkFolder {
  readonly #folder: string;

  /** `folder`: absolute. Programs may replace it, but nothing above it. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Opens a file for `act`; a folder, too, which cannot be read. Throws StudioError `config` for anything else. */
  async open<T>(input: string, act: (file: WorkFile) => Promise<T>): Promise<T> {
    const file = await this.#use(input, {}, async (folder, name) => ({
      ...(await openRegular(folder.at(name), NO_LINK)),
      name,
    }));
    try {
      return await act(file);
    } finally {
      await file.handle.close();
    }
  }

  /**
   * Writes a file, and creates the folders above it. Throws `EEXIST` if it exists and `how` is `create`, and
   * StudioError `config` if something else has its name.
   */
  async write(
    input: string,
    content: string | Uint8Array | AsyncIterable<Uint8Array>,
    how: keyof typeof WRITE_FLAGS = 'replace',
  ): Promise<void> {
    await this.#use(input, { create: true }, (folder, name) =>
      writeRegular(folder.at(name), content, WRITE_FLAGS[how] | NO_LINK),
    );
  }

  /** Returns whether something has this name. */
  async exists(input: string): Promise<boolean> {
    try {
      return await this.#use(
        input,
        {},
        (folder, name) => lstatSync(folder.at(name), { throwIfNoEntry: false }) !== undefined,
      );
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** Lists a folder, and the folders in it if `recursive` is set, up to `limit` entries. Follows no links in it. */
  async list(
    input: string,
    recursive: boolean,
    limit: number,
  ): Promise<{ readonly entries: FolderEntry[]; readonly more: boolean }> {
    return this.#use(input, {}, async (parent, name) => {
      const folder = parent.descend([name]);
      try {
        return await contents(folder, recursive, limit);
      } finally {
        folder.close();
      }
    });
  }

  /** Deletes a file, a link, or an empty folder, but not the working directory itself. */
  async remove(input: string): Promise<void> {
    await this.#use(input, { keepLink: true }, async (folder, name) => {
      const target = folder.at(name);
      await (lstatSync(target).isDirectory() ? rmdir(target) : unlink(target));
    });
  }

  /** Calls `act` with the folder to which a path leads, and the name in it. `create`: creates missing folders. */
  async #use<T>(
    input: string,
    { keepLink = false, create = false }: { readonly keepLink?: boolean; readonly create?: boolean },
    act: (folder: PinnedFolder, name: string) => T | Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { root, folders, name } = resolve(this.#folder, input, keepLink);
        const folder = PinnedFolder.open(root, folders, create);
        try {
          return await act(folder, name);
        } finally {
          folder.close();
        }
      } catch (error) {
        const code = systemCodeOf(error);
        if (attempt === ATTEMPTS || (code !== 'ELOOP' && code !== 'ENOTDIR')) throw error;
      }
    }
  }
}

/** Resolves a path; if it does not exist, its nearest existing parent. `keepLink`: a link at its end stays. */
function resolve(folder: string, input: string, keepLink: boolean): Place {
  const root = path.join(realpathSync.native(path.dirname(folder)), path.basename(folder));
  const target = path.resolve(root, input);
  if (input.includes('\0') || !isInside(root, target) || (keepLink && target === root)) throw outside(input);
  const followed = realNearest(keepLink ? path.dirname(target) : target);
  if (followed === undefined || !isInside(root, followed)) throw outside(input);
  const folders = path.relative(root, followed).split(path.sep);
  const name = keepLink ? path.basename(target) : folders.pop();
  return { root, folders: folders.filter((each) => each !== ''), name: name === undefined || name === '' ? '.' : name };
}

/** Returns the real path of the nearest existing parent plus the rest; undefined for a dangling link. */
function realNearest(target: string): string | undefined {
  const rest: string[] = [];
  for (let current = target; ; current = path.dirname(current)) {
    try {
      return path.join(realpathSync.native(current), ...rest);
    } catch (error) {
      const parent = path.dirname(current);
      if (!isMissing(error) || parent === current) throw error;
      // Writing through a dangling link would create a file wherever it points.
      if (lstatSync(current, { throwIfNoEntry: false })?.isSymbolicLink() === true) return undefined;
      rest.unshift(path.basename(current));
    }
  }
}

function isInside(root: string, file: string): boolean {
  const relative = path.relative(root, file);
  return relative === '' || (!path.isAbsolute(relative) && relative !== '..' && !relative.startsWith(`..${path.sep}`));
}

function outside(input: string): ClassedError {
  return new ClassedError('tool_error', `"${input}" is outside the working directory. Use paths relative to it.`);
}

/** Lists breadth first. A folder that is gone or a link when its turn comes is not listed. */
async function contents(
  top: PinnedFolder,
  recursive: boolean,
  limit: number,
): Promise<{ readonly entries: FolderEntry[]; readonly more: boolean }> {
  const entries: FolderEntry[] = [];
  const waiting: string[][] = [[]];
  for (const names of waiting) {
    let folder: PinnedFolder;
    try {
      folder = top.descend(names);
    } catch (error) {
      if (isMissing(error)) continue;
      throw error;
    }
    try {
      const found = await readdir(folder.path, { withFileTypes: true });
      for (const entry of found.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        if (entries.length === limit) return { entries, more: true };
        const at = [...names, entry.name];
        entries.push({ path: at.join('/'), ...described(entry, folder) });
        if (recursive && entry.isDirectory()) waiting.push(at);
      }
    } finally {
      folder.close();
    }
  }
  return { entries, more: false };
}

function described(entry: Dirent, folder: PinnedFolder): Pick<FolderEntry, 'kind' | 'bytes'> {
  if (entry.isDirectory()) return { kind: 'folder' };
  if (!entry.isFile()) return { kind: entry.isSymbolicLink() ? 'link' : 'other' };
  // A synchronous call is faster than passing it to another thread.
  const stats = lstatSync(folder.at(entry.name), { throwIfNoEntry: false });
  return { kind: 'file', ...(stats === undefined ? {} : { bytes: stats.size }) };
}

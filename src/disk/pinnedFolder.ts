/**
 * Folders whose contents programs change at the same time: a program may replace a folder or a file with a link between
 * the moment in which a path is checked and that in which it is used.
 *
 * - Linux: nothing happens outside. A folder is open, and everything in it is reached through its descriptor
 *   (`/proc/self/fd/N/name`, as with `openat`), one name at a time, without following a link.
 * - macOS: no file outside is opened, because the system refuses to open a path with a link in it. Folders are created
 *   and listed, and names are deleted, by path: a program that replaces a folder at that moment leads them elsewhere.
 * - Windows: a program that replaces a folder at the moment of its use leads everything elsewhere.
 */
import { closeSync, constants, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { systemCodeOf } from '../common/errors.ts';

const LINUX = process.platform === 'linux';
/** Opens a folder only as a place, which needs no right to list it. Node has no name for it. */
const O_PATH = 0o10000000;
/** Fails if any part of a path is a link. Node has no name for it. */
const O_NOFOLLOW_ANY = 0x20000000;

/** A flag with which opening fails with `ELOOP` instead of following a link. */
export const NO_LINK = { darwin: O_NOFOLLOW_ANY, win32: 0 }[process.platform as string] ?? constants.O_NOFOLLOW;

/** A folder that stays the same one until it is closed, whatever takes its name. */
export class PinnedFolder {
  /** For the functions of `node:fs`, while it is open. */
  readonly path: string;
  readonly #descriptor: number | undefined;

  /**
   * Opens a folder, which is no link; programs must not be able to change what is above it. Throws what the system
   * throws: on Linux, `ENOTDIR` for a link.
   */
  constructor(folder: string | Buffer) {
    this.#descriptor = LINUX ? openSync(folder, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW) : undefined;
    this.path = this.#descriptor === undefined ? folder.toString() : `/proc/self/fd/${this.#descriptor}`;
  }

  /** Opens the folder to which `names`, no links, lead from a folder. `create`: creates those that are missing. */
  static open(from: string, names: readonly string[], create = false): PinnedFolder {
    let folder = new PinnedFolder(from);
    for (const name of names) {
      const parent = folder;
      try {
        if (create) parent.#create(name);
        folder = new PinnedFolder(parent.at(name));
      } finally {
        parent.close();
      }
    }
    return folder;
  }

  /** Opens the folder to which `names` lead from here. They are no links. */
  descend(names: readonly string[]): PinnedFolder {
    return PinnedFolder.open(this.at('.'), names);
  }

  /** Returns the path of something in it, for functions that do not follow links. */
  at(name: string): string;
  at(name: Buffer): Buffer;
  at(name: string | Buffer): string | Buffer {
    const folder = `${this.path}${path.sep}`;
    return typeof name === 'string' ? folder + name : Buffer.concat([Buffer.from(folder), name]);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  #create(name: string): void {
    try {
      mkdirSync(this.at(name));
    } catch (error) {
      if (systemCodeOf(error) !== 'EEXIST') throw error;
    }
  }
}

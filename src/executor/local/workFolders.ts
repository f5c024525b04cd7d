/**
 * Working directories of local workers: `<root>/<worker>`, removed with the worker. The root has a random name outside
 * of the store, so that a program that knows its own directory cannot find the store from there. The store remembers
 * it in a file, the record, so that a restarted server finds what a killed one left behind.
 */
import { randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { createFolder } from '../../common/createFolder.ts';
import { StudioError } from '../../common/errors.ts';
import { removeTree } from '../../disk/removeTree.ts';
import { isAlive, pidOf } from './workerProcess.ts';

/** A tool that is being killed may still use its folder (Windows then refuses to remove it). */
const REMOVE = { retries: 10, retryMs: 200 } as const;
const ROOT = /^rollout-work-[0-9a-f]{32}$/;
/** File in a root with the path of its record. */
const MARK = 'record';

const recordSchema = z.object({ folder: z.string() });

interface WorkFoldersOptions {
  /** The record, in the store's folder. */
  readonly record: string;
  /** Folders for the root, best first: the first one in which it can be created. */
  readonly bases: readonly string[];
}

export class WorkFolders {
  readonly #record: string;
  readonly #bases: readonly string[];
  #root: string | undefined;

  constructor({ record, bases }: WorkFoldersOptions) {
    this.#record = path.resolve(record);
    this.#bases = bases;
  }

  async remove(worker: string): Promise<void> {
    if (this.#root !== undefined) await removeFolder(path.join(this.#root, worker));
  }

  /**
   * Removes the folders of workers that no longer run, those that this store remembers and those of stores that no
   * longer exist.
   */
  async removeLeftovers(): Promise<void> {
    this.#root ??= this.#remembered();
    if (this.#root !== undefined) await removeDead(this.#root);
    const roots = this.#bases.flatMap((base) => entriesOf(base).map((name) => path.join(base, name)));
    for (const root of roots) {
      const record = ROOT.test(path.basename(root)) && isOwn(root) ? readText(path.join(root, MARK)) : undefined;
      if (record === undefined || record === this.#record || folderIn(record) === root) continue;
      await removeDead(root);
      removeEmpty(root);
    }
  }

  /** Removes what is left, unless workers still run: their own reapers remove their folders. */
  async close(): Promise<void> {
    await this.removeLeftovers();
    if (this.#root === undefined || !removeEmpty(this.#root)) return;
    this.#root = undefined;
    rmSync(this.#record, { force: true });
  }

  /**
   * Returns the root, in which workers create their folders. Makes sure that it exists: another server of the store
   * may have removed it. Throws StudioError `storage`.
   */
  open(): string {
    const remembered = this.#remembered();
    if (remembered !== undefined) return this.#create(remembered);
    const name = `rollout-work-${randomBytes(16).toString('hex')}`;
    let problem: unknown;
    for (const base of this.#bases) {
      try {
        return this.#create(path.join(base, name));
      } catch (error) {
        problem ??= error; // the home folder may be read-only
      }
    }
    throw new StudioError('storage', `Cannot create a folder for working directories in ${this.#bases.join(' or ')}.`, {
      hint: 'Set TMPDIR to a folder that you can write to, and start the server again.',
      cause: problem,
    });
  }

  #create(root: string): string {
    createFolder(path.dirname(root), path, (each) => mkdirSync(each, { mode: 0o700 }));
    // Remembers it first: a folder that nobody knows would stay forever.
    writeFileSync(this.#record, JSON.stringify({ folder: root }), { mode: 0o600 });
    mkdirSync(root, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(root, MARK), this.#record, { mode: 0o600 });
    this.#root = root;
    return root;
  }

  /** Returns the root in the record if it is ours: stores can be copied, or come from somebody else. */
  #remembered(): string | undefined {
    const root = folderIn(this.#record);
    if (root === undefined || !ROOT.test(path.basename(root)) || !isOwn(root)) return undefined;
    const mark = readText(path.join(root, MARK));
    return mark === this.#record || (mark === undefined && entriesOf(root).length === 0) ? root : undefined;
  }
}

function folderIn(record: string): string | undefined {
  try {
    return recordSchema.parse(JSON.parse(readFileSync(record, 'utf8'))).folder;
  } catch {
    return undefined; // it does not exist, or is damaged
  }
}

/** Whether it is a folder of this user that others cannot open. */
function isOwn(folder: string): boolean {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return false;
  return process.platform === 'win32' || (stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0);
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it does not exist
  }
}

async function removeDead(root: string): Promise<void> {
  for (const name of entriesOf(root)) {
    const pid = pidOf(name);
    if (pid !== undefined && !isAlive(pid)) await removeFolder(path.join(root, name));
  }
}

/** Removes the folder of a worker, which cannot be listed before. */
async function removeFolder(folder: string): Promise<void> {
  await chmod(folder, 0o700).catch(() => undefined); // it does not exist
  await removeTree(folder, REMOVE);
}

/** Removes a root without workers. Returns whether it is gone. */
function removeEmpty(root: string): boolean {
  if (entriesOf(root).some((name) => name !== MARK)) return false;
  try {
    rmSync(path.join(root, MARK), { force: true });
    rmdirSync(root);
    return true;
  } catch {
    return lstatSync(root, { throwIfNoEntry: false }) === undefined; // a worker has just created its folder
  }
}

/** Files by the hash of their content, in the user's cache folder. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissing } from '../../common/errors.ts';

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;

export class ContentCache {
  readonly folder: string;
  #count = 0;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Creates the folder, and removes from it what was not used for 30 days. */
  static async open(folder: string): Promise<ContentCache> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const old = Date.now() - KEPT_MS;
    for (const name of await readdir(folder)) {
      const file = path.join(folder, name);
      const stats = await stat(file).catch(() => undefined); // another process removed it
      if (stats !== undefined && stats.mtimeMs < old) await rm(file, { force: true });
    }
    return new ContentCache(folder);
  }

  /** Returns the path of a new file, for `adopt`. */
  temporary(): string {
    return path.join(this.folder, `${process.pid}-${this.#count++}.tmp`);
  }

  async add(bytes: Uint8Array): Promise<{ readonly sha: string; readonly path: string }> {
    const sha = createHash('sha256').update(bytes).digest('hex');
    const file = path.join(this.folder, sha);
    if (!(await isUsed(file))) {
      const temporary = this.temporary();
      await writeFile(temporary, bytes, { mode: 0o600 });
      await rename(temporary, file);
    }
    return { sha, path: file };
  }

  /** Moves a file here, by its content. */
  async adopt(temporary: string): Promise<{ readonly sha: string; readonly path: string }> {
    const hash = createHash('sha256');
    for await (const chunk of createReadStream(temporary)) hash.update(chunk as Uint8Array);
    const sha = hash.digest('hex');
    const file = path.join(this.folder, sha);
    await rename(temporary, file);
    return { sha, path: file };
  }

  /** Returns the path of a file by its hash; undefined if it is not here. */
  async find(sha: string): Promise<string | undefined> {
    const file = path.join(this.folder, sha);
    return (await isUsed(file)) ? file : undefined;
  }

  /** Keeps a text under a name that says from what it was computed. */
  async remember(name: string, text: string): Promise<void> {
    const temporary = this.temporary();
    await writeFile(temporary, text, { mode: 0o600 });
    await rename(temporary, path.join(this.folder, name));
  }

  async recall(name: string): Promise<string | undefined> {
    const file = path.join(this.folder, name);
    return (await isUsed(file)) ? readFile(file, 'utf8') : undefined;
  }
}

/** Whether a file exists. If so, it counts as used now. */
async function isUsed(file: string): Promise<boolean> {
  const now = new Date();
  try {
    await utimes(file, now, now);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

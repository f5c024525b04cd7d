/** Writes generated files to a folder, over those of an earlier run. */
import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissing, StudioError } from '../../../common/errors.ts';

/** The mark is in the first line, or the second. Bytes. */
const MARK_WITHIN = 100;

/**
 * Writes files, and removes those of an earlier run that are no longer among them; `mark`: what the start of their
 * texts contains.
 * Throws StudioError `conflict` before it writes anything if one of the files is not generated.
 */
export async function writeGenerated(folder: string, files: ReadonlyMap<string, string>, mark: string): Promise<void> {
  const obsolete: string[] = [];
  for (const name of await namesNextTo([...files.keys()], folder)) {
    const generated = (await startOf(path.join(folder, name))).includes(mark);
    if (generated && !files.has(name)) obsolete.push(name);
    if (!generated && files.has(name))
      throw new StudioError('conflict', `${path.join(folder, name)} exists, and was not generated.`, {
        hint: 'Choose another folder with --out.',
      });
  }
  for (const [name, text] of files) {
    const file = path.join(folder, ...name.split('/'));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  for (const name of obsolete) await rm(path.join(folder, ...name.split('/')));
}

/** Returns the files in the folders of these names, none of whose other folders are read: there may be many. */
async function namesNextTo(names: readonly string[], folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const inner of new Set(names.map((name) => path.posix.dirname(name)))) {
    const entries = await readdir(path.join(folder, inner), { withFileTypes: true }).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw error;
    });
    for (const entry of entries) if (entry.isFile()) found.push(path.posix.join(inner, entry.name));
  }
  return found;
}

/** Returns the first bytes of a file, which may be of any size, as text. */
async function startOf(file: string): Promise<string> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(MARK_WITHIN) });
  return buffer.toString('utf8', 0, bytesRead);
}

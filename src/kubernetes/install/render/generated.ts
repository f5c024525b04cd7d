/** Writes generated files over those of an earlier run. */
import { mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissing, StudioError, systemCodeOf } from '../../../common/errors.ts';

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
    if (!generated && files.has(name)) throw notGenerated(path.join(folder, name), 'folder');
  }
  for (const [name, text] of files) {
    const file = path.join(folder, ...name.split('/'));
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  for (const name of obsolete) await rm(path.join(folder, ...name.split('/')));
}

/**
 * Writes a file as a whole, or not at all: a GitOps tool would remove what an empty one lacks. Throws StudioError
 * `conflict` if there is one that was not generated, and `usage` if there is a folder.
 */
export async function writeGeneratedFile(file: string, text: string, mark: string): Promise<void> {
  const before = await startOf(file).catch((error: unknown) => {
    if (isMissing(error)) return '';
    throw systemCodeOf(error) === 'EISDIR'
      ? new StudioError('usage', `${file} is a folder.`, { hint: 'Name a file, such as --out rollouts.yaml.' })
      : error;
  });
  if (before !== '' && !before.includes(mark)) throw notGenerated(file, 'file');
  const partial = `${file}.${process.pid}.part`;
  await mkdir(path.dirname(file), { recursive: true });
  try {
    await writeFile(partial, text, { flag: 'wx' });
    await rename(partial, file);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function notGenerated(file: string, what: 'file' | 'folder'): StudioError {
  return new StudioError('conflict', `${file} exists, and was not generated.`, {
    hint: `Choose another ${what} with --out.`,
  });
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

/** Writes generated files to a folder, over those of an earlier run. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isMissing, StudioError } from '../../../common/errors.ts';

/** The mark is in the first line, or the second. */
const MARK_WITHIN = 100;

/**
 * Writes files, and removes those of an earlier run that are no longer among them; `mark`: what the start of their
 * texts contains.
 * Throws StudioError `conflict` before it writes anything if one of the files is not generated.
 */
export async function writeGenerated(folder: string, files: ReadonlyMap<string, string>, mark: string): Promise<void> {
  const obsolete: string[] = [];
  for (const name of await namesIn(folder)) {
    const generated = (await readFile(path.join(folder, name), 'utf8')).slice(0, MARK_WITHIN).includes(mark);
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

/** Returns the files in a folder, with `/` between the parts of their names; none if there is no folder. */
async function namesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch((error: unknown) => {
    if (isMissing(error)) return [];
    throw error;
  });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'));
}

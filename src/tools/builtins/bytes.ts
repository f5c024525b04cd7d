import { readFile, stat } from 'node:fs/promises';
import { ClassedError } from '../../trace/classedError.ts';
import { confine } from './confine.ts';
import { withFileErrors } from './fileErrors.ts';

/**
 * A file of the working directory, whole. Throws ClassedError `tool_error`, also when it has more bytes than `most`.
 */
export async function bytesOf(cwd: string, given: string, most: number): Promise<Buffer> {
  return withFileErrors(given, async () => {
    const file = await confine(cwd, given);
    const found = await stat(file);
    if (found.isDirectory()) throw new ClassedError('tool_error', `${given} is a folder.`);
    if (found.size > most)
      throw new ClassedError('tool_error', `${given} has ${found.size} bytes; more than ${most} are not read.`);
    return readFile(file);
  });
}

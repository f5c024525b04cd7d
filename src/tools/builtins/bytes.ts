import { stat } from 'node:fs/promises';
import { ClassedError } from '../../trace/classedError.ts';
import { readRegular } from '../regularFile.ts';
import { confine } from './confine.ts';
import { withFileErrors } from './fileErrors.ts';

/** Reads a file of the working directory. Throws ClassedError `tool_error`, also if it is larger than `maxBytes`. */
export async function bytesOf(cwd: string, file: string, maxBytes: number): Promise<Buffer> {
  return withFileErrors(file, async () => {
    const target = await confine(cwd, file);
    const stats = await stat(target);
    if (stats.isDirectory()) throw new ClassedError('tool_error', `${file} is a folder.`);
    if (stats.size > maxBytes)
      throw new ClassedError('tool_error', `${file} is too large: ${stats.size} bytes, maximum ${maxBytes}.`);
    return readRegular(target, maxBytes);
  });
}

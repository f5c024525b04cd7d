import { ClassedError } from '../../trace/classedError.ts';
import { contentOf } from '../regularFile.ts';
import { WorkFolder } from '../workFolder.ts';
import { withFileErrors } from './fileErrors.ts';

/** Reads a file of the working directory. Throws ClassedError `tool_error`, also if it is larger than `maxBytes`. */
export async function bytesOf(cwd: string, file: string, maxBytes: number): Promise<Buffer> {
  return withFileErrors(file, () =>
    new WorkFolder(cwd).open(file, async (opened) => {
      const { stats } = opened;
      if (stats.isDirectory()) throw new ClassedError('tool_error', `${file} is a folder.`);
      if (stats.size > maxBytes)
        throw new ClassedError('tool_error', `${file} is too large: ${stats.size} bytes, maximum ${maxBytes}.`);
      return contentOf(opened);
    }),
  );
}

import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { ClassedError } from '../../../trace/classedError.ts';
import { WorkFolder } from '../../workFolder.ts';
import { withFileErrors } from '../fileErrors.ts';

/** Returns the path of the profile of the browser: next to the working directory, so that the agent does not see it. */
export function profileOf(cwd: string): string {
  return `${cwd}.browser`;
}

/**
 * Copies a file of the working directory to the browser's profile, and returns the path of the copy. The browser reads
 * it when the page does, perhaps outside of the sandbox; by then, a program could have replaced the file with a link.
 * Throws ClassedError `tool_error`.
 */
export async function copyForUpload(cwd: string, file: string): Promise<string> {
  return withFileErrors(file, () =>
    new WorkFolder(cwd).open(file, async ({ name, stats, handle }) => {
      if (!stats.isFile()) throw new ClassedError('tool_error', `${file} is not a file.`);
      const profile = profileOf(cwd);
      const copy = path.join('uploads', randomUUID(), name);
      await new WorkFolder(profile).write(copy, handle.createReadStream({ autoClose: false }));
      return path.join(profile, copy);
    }),
  );
}

import path from 'node:path';
import { StudioError } from '../common/errors.ts';

/** The absolute path of a file an agent names. Throws `forbidden` when it does not lie in the workspace's folder. */
export function workspaceFile(folder: string, file: string): string {
  const whole = path.resolve(folder, file);
  const below = path.relative(folder, whole);
  if (below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)) {
    throw new StudioError('forbidden', `${file} does not lie in the workspace ${folder}.`, {
      hint: 'Name a file in it, or start rollout mcp with --folder.',
    });
  }
  return whole;
}

import path from 'node:path';
import { StudioError } from '../common/errors.ts';

/** Resolves a file path. Throws StudioError `forbidden` if it is outside the workspace folder. */
export function workspaceFile(folder: string, file: string): string {
  const whole = path.resolve(folder, file);
  const below = path.relative(folder, whole);
  if (below === '..' || below.startsWith(`..${path.sep}`) || path.isAbsolute(below)) {
    throw new StudioError('forbidden', `${file} is outside the workspace ${folder}.`, {
      hint: 'Pass a file in the workspace, or start rollout mcp with another --folder.',
    });
  }
  return whole;
}

import { createVSIX } from '@vscode/vsce';
import { QUALITY } from './compressed.ts';
import { stageVsix } from './stage.ts';

/** Builds the .vsix `file` of the project in `root`, using the folder `stage`. Needs `dist/`. */
export async function makeVsix(
  root: string,
  stage: string,
  file: string,
  quality: number = QUALITY.released,
): Promise<void> {
  await stageVsix(root, stage, quality);
  await createVSIX({
    cwd: stage,
    packagePath: file,
    dependencies: false,
    allowMissingRepository: true,
    rewriteRelativeLinks: false,
    allowUnusedFilesPattern: true,
  });
}

/** Bundles the current file of a module that was submitted before. */
import { existsSync } from 'node:fs';
import type { SubmittedModule } from '../config/submission.ts';
import { bundleModule } from '../tools/bundle.ts';
import { candidatesOf, rootOf } from './sourcePaths.ts';
import { workspaceRoot } from './workspace.ts';

interface CurrentModule {
  readonly module: SubmittedModule;
  /** Its bundle and source map; empty if the file no longer exists. */
  readonly blobs: readonly { readonly sha: string; readonly bytes: Uint8Array }[];
}

/**
 * Returns the submitted module if its file no longer exists. `modules`: all modules of the submission. `folder`: where
 * to search for files that have moved. Throws StudioError `config` if the file does not build.
 */
export async function moduleNow(
  module: SubmittedModule,
  modules: readonly SubmittedModule[],
  folder: string,
): Promise<CurrentModule> {
  const file = candidatesOf(module.file, modules, [folder]).find((candidate) => existsSync(candidate));
  if (file === undefined) return { module, blobs: [] };
  const bundle = await bundleModule(file, rootOf(file, module.file) ?? workspaceRoot(file, folder));
  return {
    module: { ...module, bundle: bundle.bundleSha, map: bundle.mapSha },
    blobs: [
      { sha: bundle.bundleSha, bytes: bundle.code },
      { sha: bundle.mapSha, bytes: bundle.map },
    ],
  };
}

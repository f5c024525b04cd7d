/** From a batch file on this disk to a running batch on a server: read, check, bundle, send. */
import { PRODUCT } from '../common/product.ts';
import type { Files } from '../config/files.ts';
import { type LoadOptions, loadBatch } from '../config/load.ts';
import { type Problem, problemsError } from '../config/source/problem.ts';
import { type BuiltSubmission, buildSubmission, type SubmitPorts } from '../config/submit.ts';
import { bundleModule } from '../tools/bundle.ts';
import { diskFiles } from './disk.ts';
import { gitState, workspaceRoot } from './workspace.ts';

export interface ReadyBatch {
  readonly built: BuiltSubmission;
  /** What is worth telling and stops nothing. */
  readonly warnings: readonly Problem[];
  readonly root: string;
  /** Where its file says that it runs. */
  readonly target: string;
}

/** Reads a batch file with all it names. Throws StudioError `config` with every problem of every file. */
export async function readBatch(
  file: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  options: LoadOptions = {},
): Promise<ReadyBatch> {
  const root = workspaceRoot(file, cwd);
  const files = diskFiles(cwd);
  const loaded = await loadBatch(files, file, { root, ...options });
  if (loaded.value === undefined) throw problemsError(loaded.problems, files.absolute(cwd));
  const built = await buildSubmission(loaded.value, submitPorts(files, root, env));
  return { built, warnings: loaded.problems, root, target: loaded.value.file.target };
}

/** What building a submission needs of this machine. */
export function submitPorts(files: Files, root: string, env: NodeJS.ProcessEnv): SubmitPorts {
  return {
    files,
    product: PRODUCT,
    env: (name) => env[name],
    git: () => gitState(root),
    bundle: (path) => bundleModule(path, root),
  };
}

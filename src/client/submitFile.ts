/** Reads batch files from disk and builds their submissions. */
import { StudioError } from '../common/errors.ts';
import { PRODUCT } from '../common/product.ts';
import type { Files } from '../config/files.ts';
import { type LoadOptions, loadBatch } from '../config/load.ts';
import { SANDBOX_MODES, type SandboxMode } from '../config/schema/sandboxSection.ts';
import { type Problem, problemsError } from '../config/source/problem.ts';
import { type BuiltSubmission, buildSubmission, type SubmitPorts } from '../config/submit.ts';
import { bundleModule } from '../tools/bundle.ts';
import { diskFiles } from './disk.ts';
import { gitState, workspaceRoot } from './workspace.ts';

interface ReadyBatch {
  readonly built: BuiltSubmission;
  /** Problems that do not prevent the batch from running. */
  readonly warnings: readonly Problem[];
  readonly root: string;
  /** The target in the batch file. */
  readonly target: string;
}

/** Reads a batch file and all files it references. Throws StudioError `config` with the problems of all files. */
export async function readBatch(
  file: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  options: LoadOptions = {},
): Promise<ReadyBatch> {
  const root = workspaceRoot(file, cwd);
  const files = diskFiles(cwd);
  const sandbox = sandboxMode(env['ROLLOUT_SANDBOX']);
  const loaded = await loadBatch(files, file, { root, ...(sandbox === undefined ? {} : { sandbox }), ...options });
  if (loaded.value === undefined) throw problemsError(loaded.problems, files.absolute(cwd));
  const built = await buildSubmission(loaded.value, submitPorts(files, root, env));
  return { built, warnings: [...loaded.problems, ...built.warnings], root, target: loaded.value.file.target };
}

/** Returns the mode of an option or of `ROLLOUT_SANDBOX`. Throws StudioError `usage`. */
export function sandboxMode(written: string | undefined): SandboxMode | undefined {
  if (written === undefined || written === '') return undefined;
  const mode = SANDBOX_MODES.find((candidate) => candidate === written);
  if (mode !== undefined) return mode;
  throw new StudioError('usage', `The sandbox mode is ${SANDBOX_MODES.join(', ')}, not ${written}.`);
}

/** Returns the ports that building a submission needs on this machine. */
export function submitPorts(files: Files, root: string, env: NodeJS.ProcessEnv): SubmitPorts {
  return {
    files,
    product: PRODUCT,
    env: (name) => env[name],
    git: () => gitState(root),
    bundle: (path) => bundleModule(path, root),
  };
}

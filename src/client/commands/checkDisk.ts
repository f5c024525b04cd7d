/** Checks files of this disk: what they say, and that the modules they name can be built. */
import { StudioError } from '../../common/errors.ts';
import { checkFiles, configFilesUnder } from '../../config/checkFiles.ts';
import { loadAgent, loadWorld } from '../../config/load.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import type { Problem } from '../../config/source/problem.ts';
import { bundleModule } from '../../tools/bundle.ts';
import { diskFiles } from '../disk.ts';
import { workspaceRoot } from '../workspace.ts';

export interface Checked {
  /** As given, or as found below the folder. */
  readonly paths: readonly string[];
  readonly problems: readonly Problem[];
}

/**
 * Checks the files `paths` names, taken from `folder`; without any, all agent, world and batch files below it. Throws
 * `usage` when there is none.
 */
export async function checkDisk(folder: string, given: readonly string[]): Promise<Checked> {
  const files = diskFiles(folder);
  const paths = given.length > 0 ? given : await configFilesUnder(files, folder);
  if (paths.length === 0)
    throw new StudioError('usage', 'There is no agent, world or batch file below this folder.', {
      hint: 'rollout init makes a sample workspace.',
    });
  return { paths, problems: [...(await checkFiles(files, paths)), ...(await moduleProblems(folder, paths))] };
}

/** Every module that agents and worlds name is built once; what the bundler says becomes problems. */
async function moduleProblems(folder: string, paths: readonly string[]): Promise<Problem[]> {
  const files = diskFiles(folder);
  const modules = new Set<string>();
  for (const path of paths) {
    if (path.endsWith('.agent.yaml')) {
      const agent = (await loadAgent(files, path)).value;
      for (const entry of agent?.file.tools ?? [])
        if (entry.module !== undefined) modules.add(joinPath(dirname(agent?.path ?? path), entry.module));
    } else if (path.endsWith('.world.yaml')) {
      const world = (await loadWorld(files, path)).value;
      if (world !== undefined) modules.add(joinPath(dirname(world.path), world.file.module));
    }
  }
  const problems: Problem[] = [];
  for (const module of modules) {
    const root = workspaceRoot(module, folder);
    try {
      await bundleModule(module, root);
    } catch (error) {
      if (!StudioError.is(error, 'config')) throw error;
      for (const found of bundleProblems(error)) {
        problems.push({
          file: joinPath(files.absolute(root), found.file),
          line: found.line,
          column: found.column,
          endLine: found.line,
          endColumn: found.column + 1,
          message: found.message,
          hint: 'The module must build before a rollout can use it.',
          severity: 'error',
          code: 'file',
        });
      }
    }
  }
  return problems;
}

function bundleProblems(error: StudioError): { file: string; line: number; column: number; message: string }[] {
  const problems = error.details?.['problems'];
  return Array.isArray(problems) ? (problems as { file: string; line: number; column: number; message: string }[]) : [];
}

import { bundleModule } from '../../tools/bundle.ts';
import { diskFiles } from '../../client/disk.ts';
import { workspaceRoot } from '../../client/workspace.ts';
import { StudioError } from '../../common/errors.ts';
import { checkFiles, configFilesUnder } from '../../config/checkFiles.ts';
import { loadAgent, loadWorld } from '../../config/load.ts';
import { joinPath, dirname } from '../../config/paths.ts';
import { formatProblem, hasErrors, type Problem } from '../../config/source/problem.ts';
import { writeEditorTypes } from '../../tools/editorTypes.ts';
import type { Command } from '../command.ts';
import type { Context } from '../context.ts';

export const check: Command = {
  name: 'check',
  usage: '[FILE…]',
  text: 'Validates agent, world, batch and dataset files and builds the modules they name; without FILE, all below this folder.',
  options: {},
  async run(context, given) {
    const files = diskFiles(context.cwd);
    const paths = given.words.length > 0 ? given.words : await configFilesUnder(files, context.cwd);
    if (paths.length === 0) throw new StudioError('usage', 'There is no agent, world or batch file below this folder.', { mend: 'rollout init makes a sample workspace.' });
    const problems = [...(await checkFiles(files, paths)), ...(await moduleProblems(context, paths))];
    if (given.words.length === 0) await writeEditorTypes(workspaceRoot(paths[0] ?? '', context.cwd));
    if (context.json) context.printJson({ files: paths.length, problems });
    else {
      for (const problem of problems) context.print(formatProblem(problem, files.absolute(context.cwd)));
      if (problems.length === 0) context.print(`${paths.length} ${paths.length === 1 ? 'file is' : 'files are'} fine.`);
    }
    return hasErrors(problems) ? 1 : 0;
  },
};

/** Every module that agents and worlds name is built once; what the bundler says becomes problems. */
async function moduleProblems(context: Context, paths: readonly string[]): Promise<Problem[]> {
  const files = diskFiles(context.cwd);
  const modules = new Set<string>();
  for (const path of paths) {
    if (path.endsWith('.agent.yaml')) {
      const agent = (await loadAgent(files, path)).value;
      for (const entry of agent?.file.tools ?? []) if (entry.module !== undefined) modules.add(joinPath(dirname(agent?.path ?? path), entry.module));
    } else if (path.endsWith('.world.yaml')) {
      const world = (await loadWorld(files, path)).value;
      if (world !== undefined) modules.add(joinPath(dirname(world.path), world.file.module));
    }
  }
  const problems: Problem[] = [];
  for (const module of modules) {
    const root = workspaceRoot(module, context.cwd);
    try {
      await bundleModule(module, root);
    } catch (error) {
      if (!StudioError.is(error, 'config')) throw error;
      for (const found of bundleProblems(error)) {
        problems.push({
          file: joinPath(files.absolute(root), found.file), line: found.line, column: found.column, endLine: found.line, endColumn: found.column + 1,
          message: found.message, mend: 'The module must build before a rollout can use it.', severity: 'error', code: 'file',
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

import { checkDisk } from '../../client/commands/checkDisk.ts';
import { diskFiles } from '../../client/disk.ts';
import { plural } from '../../common/text.ts';
import { formatProblem, hasErrors } from '../../config/source/problem.ts';
import { modulesLoader } from '../../rerun/loadModules.ts';
import type { Command } from '../command.ts';

export const check: Command = {
  name: 'check',
  usage: '[FILE…]',
  text:
    'Checks agent, world, batch, and dataset files and loads the modules they reference. Without FILE, checks all ' +
    'files in this folder.',
  options: {},
  async run(context, commandLine) {
    const { paths, problems } = await checkDisk(
      context.cwd,
      commandLine.words,
      modulesLoader(context.signal),
      context.env,
    );
    if (context.json) context.printJson({ files: paths.length, problems });
    else {
      for (const problem of problems)
        context.print(formatProblem(problem, diskFiles(context.cwd).absolute(context.cwd)));
      if (problems.length === 0) context.print(`No problems in ${plural(paths.length, 'file')}.`);
    }
    return hasErrors(problems) ? 1 : 0;
  },
};

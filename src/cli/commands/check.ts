import { checkDisk } from '../../client/commands/checkDisk.ts';
import { diskFiles } from '../../client/disk.ts';
import { fileMeters } from '../../client/simulation/meters.ts';
import { plural } from '../../common/text.ts';
import { formatProblem, hasErrors } from '../../config/source/problem.ts';
import { modulesLoader } from '../../rerun/loadModules.ts';
import type { Command } from '../command.ts';

export const check: Command = {
  name: 'check',
  usage: '[FILE…]',
  text:
    'Checks agent, world, batch, and dataset files and loads the modules they reference. Without FILE, checks all ' +
    'files in this folder. Also says how many calls fit in the context of the models that play worlds.',
  options: {},
  async run(context, commandLine) {
    const { paths, problems } = await checkDisk(
      context.cwd,
      commandLine.words,
      modulesLoader(context.signal),
      context.env,
    );
    const files = diskFiles(context.cwd);
    const worlds = await fileMeters(files, paths, context.cwd, context.env, context.signal);
    if (context.json) context.printJson({ files: paths.length, problems, worlds });
    else {
      for (const problem of problems) context.print(formatProblem(problem, files.absolute(context.cwd)));
      for (const { text } of worlds) context.print(text);
      if (problems.length === 0) context.print(`No problems in ${plural(paths.length, 'file')}.`);
    }
    return hasErrors(problems) ? 1 : 0;
  },
};

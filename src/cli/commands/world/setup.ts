/** `rollout world setup`: makes the Python environment of code worlds, after confirmation. */
import { createInterface } from 'node:readline/promises';
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import { pinnedPackages, pythonState, setUpPython } from '../../../tools/python/setup.ts';
import { pythonEnvironment } from '../../../tools/python/worldPython.ts';
import { type CommandLine, flag, type Outcome } from '../../command.ts';
import type { Context } from '../../context.ts';

/** Makes the environment, unless it is there already. Throws StudioError if nobody can confirm it. */
export async function setup(context: Context, commandLine: CommandLine): Promise<Outcome> {
  const environment = pythonEnvironment();
  const { state, python } = await pythonState();
  if (state !== 'ready') {
    const packages = await pinnedPackages();
    context.log(
      `This ${state === 'old' ? 'replaces' : 'makes'} a virtual environment of Python in ${environment} and installs ` +
        `${plural(packages.length, 'package')} with pip: ${packages.join(', ')}.`,
    );
    if (!flag(commandLine, 'yes') && !(await isConfirmed(context))) {
      context.log('Nothing was changed.');
      return 1;
    }
    await setUpPython({ signal: context.signal, onOutput: (text) => context.log(text.trimEnd()) });
  }
  if (context.json) context.printJson({ python, made: state !== 'ready' });
  else context.print(state === 'ready' ? `${python} is ready.` : `${python} is ready: worlds of kind code can run.`);
  return 0;
}

async function isConfirmed({ signal }: Context): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new StudioError('usage', 'rollout world setup asks before it installs packages.', {
      hint: 'Add --yes to confirm.',
    });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question('Continue? [y/N] ', { signal })).trim());
  } finally {
    terminal.close();
  }
}

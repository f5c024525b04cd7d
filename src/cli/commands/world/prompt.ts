/** `rollout world prompt`: what the model of a simulated world is told. */
import { fileKind } from '../../../common/fileKinds.ts';
import { worldPrompt } from '../../../rerun/worldPrompt.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';
import { batchOf } from './batchOf.ts';

/** Prints the system prompt of a world file, or of the world of a batch file. */
export async function prompt(context: Context, file: string, commandLine: CommandLine): Promise<Outcome> {
  const { cwd, env, signal } = context;
  const batch = textOption(commandLine, 'batch') ?? (fileKind(file) === 'batch' ? file : await batchOf(file, cwd));
  const found = await worldPrompt(file, {
    batch,
    task: textOption(commandLine, 'task'),
    cwd,
    env,
    connect: async () => (await context.connect()).api,
    signal,
  });
  if (context.json) context.printJson(found);
  else {
    context.print(found.prompt);
    if (found.task !== undefined) context.log(`For the task ${found.task} of ${found.batch ?? file}.`);
  }
  return 0;
}

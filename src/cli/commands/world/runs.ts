/** `rollout world lint --runs`: which tasks failed because of their world, from the attempts of a batch. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { filterByRuns } from '../../../client/commands/runFilter.ts';
import { resolveBatch } from '../../../client/reference.ts';
import { plural } from '../../../common/text.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';

/** Reports tasks whose failures all blame their world; with --out, writes the IDs of the others. */
export async function lintRuns(context: Context, batch: string, commandLine: CommandLine): Promise<Outcome> {
  const { api } = await context.connect();
  const { setAside, kept } = await filterByRuns(api, await resolveBatch(api, batch, context.signal), context.signal);
  const out = textOption(commandLine, 'out');
  if (out !== undefined) await writeFile(path.resolve(context.cwd, out), kept.map((task) => `${task}\n`).join(''));
  if (context.json) context.printJson({ set_aside: setAside, kept });
  else
    for (const { task, attempts, reasons } of setAside)
      context.print(`${task}: none of ${plural(attempts, 'attempt')} passed: ${reasons.join('; ')}`);
  context.log(
    `${plural(setAside.length, 'task')} to set aside, ${kept.length} to keep.` +
      (out === undefined ? '' : ` Run those with rollout run BATCH.yaml --task-file ${out}.`),
  );
  return 0;
}

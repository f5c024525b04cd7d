/** `rollout cluster image`: an image with the programs, for clusters that allow no code in ConfigMaps. */
import path from 'node:path';
import { StudioError } from '../../../common/errors.ts';
import { type CommandLine, flag, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';
import { BUILDERS, builderName, findBuilder, runBuilder } from '../../imageBuilder.ts';

/** Writes the recipe and the programs to the folder of `--out`; with `--tag`, also builds the image. */
export async function image(context: Context, commandLine: CommandLine): Promise<Outcome> {
  const out = textOption(commandLine, 'out');
  const tag = textOption(commandLine, 'tag');
  const push = flag(commandLine, 'push');
  if (out === undefined) throw new StudioError('usage', 'Name the folder for the Dockerfile with --out FOLDER.');
  if (push && tag === undefined) throw new StudioError('usage', '--push requires --tag REGISTRY/NAME:TAG.');
  const builder = await findBuilder(context.env, context.signal);
  const { pack } = await import('../../../kubernetes/programs/archive.ts');
  const { serverFiles } = await import('../../../kubernetes/install/install.ts');
  const { programRecipe, writeProgramImage } = await import('../../../kubernetes/images/programImage.ts');
  const { DEFAULT_IMAGE } = await import('../../../kubernetes/install/options.ts');
  const files = await serverFiles();
  const { sha } = await pack(files);
  const folder = path.resolve(context.cwd, out);
  await writeProgramImage(folder, programRecipe(textOption(commandLine, 'image') ?? DEFAULT_IMAGE, sha), files);
  if (tag !== undefined) {
    if (builder === undefined) {
      throw new StudioError('unavailable', `Wrote ${out}, but found no program that builds images.`, {
        hint: `Install one of ${BUILDERS.join(', ')}, or build ${out} on another machine.`,
      });
    }
    await runBuilder(context, builder, ['build', '--tag', tag, folder]);
    if (push) await runBuilder(context, builder, ['push', tag]);
  }
  if (context.json) {
    context.printJson({ folder, programs: sha, ...(tag === undefined ? {} : { image: tag, pushed: push }) });
    return 0;
  }
  context.print(tag === undefined ? `Wrote ${out}.` : `Built ${tag}${push ? ' and pushed it' : ''}.`);
  const name = tag ?? 'REGISTRY/rollout-studio:TAG';
  const program = builderName(builder) ?? BUILDERS[0];
  context.log(
    [
      ...(tag === undefined ? [`Build it: ${program} build --tag ${name} ${out}`] : []),
      ...(push ? [] : [`Push it to a registry from which the nodes of your cluster pull: ${program} push ${name}`]),
      `Use it: rollout cluster install --target NAME --programs image --image ${name}`,
    ].join('\n'),
  );
  return 0;
}

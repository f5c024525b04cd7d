/** `rollout world image`: the recipe of an image for pods that run a code world, and what to do with it. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { filesAt } from '../../../client/submitFile.ts';
import { isMissing, StudioError } from '../../../common/errors.ts';
import { loadWorld } from '../../../config/load.ts';
import { problemsError } from '../../../config/source/problem.ts';
import { imageRecipe, isRecipe } from '../../../tools/python/imageRecipe.ts';
import { type CommandLine, type Outcome, textOption } from '../../command.ts';
import type { Context } from '../../context.ts';
import { BUILDERS, builderName, findBuilder } from '../../imageBuilder.ts';

const FILE = 'Dockerfile';

/** Writes the recipe to the folder of `--out`, or prints it. Throws StudioError for a world that needs no image. */
export async function image(context: Context, world: string, commandLine: CommandLine): Promise<Outcome> {
  const files = filesAt(context);
  const { value, problems } = await loadWorld(files, path.resolve(context.cwd, world));
  if (value === undefined) throw problemsError(problems, files.absolute(context.cwd));
  if (value.kind !== 'code')
    throw new StudioError('unsupported', `${world} is a world of kind ${value.kind}: only kind code needs an image.`, {
      hint: 'Its pods use the image of the server, or any image with Node.js and the programs of `needs`.',
    });
  const { dockerfile, provides } = await imageRecipe(path.basename(value.path), value.file.needs);
  const out = textOption(commandLine, 'out');
  const written = out === undefined ? undefined : await write(path.resolve(context.cwd, out), dockerfile);
  if (context.json) {
    context.printJson({ dockerfile, provides, ...(written === undefined ? {} : { file: written }) });
    return 0;
  }
  if (written === undefined) context.print(dockerfile.trimEnd());
  else context.print(`Wrote ${written}.`);
  const builder = builderName(await findBuilder(context.env, context.signal));
  context.log(nextSteps(value.file.name, out, provides, builder));
  return 0;
}

/** Writes the recipe, over one that was written before. Returns its path. Throws StudioError `conflict`. */
async function write(folder: string, dockerfile: string): Promise<string> {
  const file = path.join(folder, FILE);
  const before = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (before !== undefined && !isRecipe(before))
    throw new StudioError('conflict', `${file} exists, and is not from rollout world image.`, {
      hint: 'Choose another folder with --out.',
    });
  await mkdir(folder, { recursive: true });
  await writeFile(file, dockerfile);
  return file;
}

function nextSteps(
  name: string,
  out: string | undefined,
  provides: readonly string[],
  builder: string | undefined,
): string {
  const tag = `REGISTRY/${name.toLowerCase()}-world:1`;
  return [
    `${builder === undefined ? 'With Docker, Podman, Buildah, or nerdctl, build' : 'Build'} the image, and ` +
      'push it to a registry from which the nodes of your cluster pull:',
    ...(out === undefined ? [`  rollout world image … --out FOLDER`] : []),
    `  ${builder ?? BUILDERS[0]} build --tag ${tag} ${out ?? 'FOLDER'}`,
    `  ${builder ?? BUILDERS[0]} push ${tag}`,
    'Then add it to the batch file:',
    '  pods:',
    `    image: ${tag}`,
    `    provides: [${provides.join(', ')}]`,
  ].join('\n');
}

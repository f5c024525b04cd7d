import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageUrl } from '../../common/entries.ts';
import { StudioError } from '../../common/errors.ts';
import { writeEditorTypes } from '../../tools/editorTypes.ts';
import { type Command, textOption } from '../command.ts';

/** Each lies in `media/`; the batch that is run first. */
const TEMPLATES: Readonly<Record<string, { readonly folder: string; readonly what: string; readonly batch: string }>> =
  {
    desk: { folder: 'media/sample', what: 'the sample workspace', batch: 'desk.batch.yaml' },
    gaia: { folder: 'media/gaia', what: 'a workspace for GAIA', batch: 'gaia.batch.yaml' },
  };

/** npm leaves files of this name out of packages, so the sample's has another one there. */
const GITIGNORE = { packed: 'gitignore', written: '.gitignore' };

export const init: Command = {
  name: 'init',
  usage: '[DIR] [--template desk|gaia]',
  text:
    'Creates the sample workspace: a library’s lending desk with its agent, tools, world, tasks and batches; or ' +
    'one for GAIA: an agent with the tools for it, its prompt and its batch.',
  options: { template: { type: 'string', value: 'NAME', text: 'desk (the sample) or gaia' } },
  async run(context, given) {
    if (given.words.length > 1) throw new StudioError('usage', `usage: rollout init ${init.usage}`);
    const name = textOption(given, 'template') ?? 'desk';
    const template = Object.hasOwn(TEMPLATES, name) ? TEMPLATES[name] : undefined;
    if (template === undefined)
      throw new StudioError('usage', `There is no template “${name}”.`, {
        hint: `There are ${Object.keys(TEMPLATES).join(' and ')}.`,
      });
    const target = path.resolve(context.cwd, given.words[0] ?? '.');
    const sample = fileURLToPath(packageUrl(template.folder));
    const files = filesBelow(sample).map((file) => ({
      from: file,
      to: file === GITIGNORE.packed ? GITIGNORE.written : file,
    }));
    const taken = files.filter(({ to }) => existsSync(path.join(target, to))).map(({ to }) => to);
    if (taken.length > 0) {
      throw new StudioError(
        'conflict',
        `${target} has ${taken.length === 1 ? 'a file' : 'files'} of that name already: ` +
          `${taken.slice(0, 3).join(', ')}${taken.length > 3 ? ' …' : ''}.`,
        { hint: 'Nothing was written. Name an empty folder: rollout init DIR' },
      );
    }
    for (const { from, to } of files) {
      mkdirSync(path.dirname(path.join(target, to)), { recursive: true });
      copyFileSync(path.join(sample, from), path.join(target, to));
    }
    await writeEditorTypes(target);
    if (context.json) context.printJson({ folder: target, files: files.map(({ to }) => to) });
    else
      context.print(
        `Made ${template.what} in ${target}.\nRun it:  rollout run ` +
          fromHere(context.cwd, path.join(target, 'batches', template.batch)),
      );
    return 0;
  },
};

/** A file as one types it in a folder: its whole path where the way there would climb (`../../…`). */
function fromHere(folder: string, file: string): string {
  const way = path.relative(folder, file);
  return way.split(path.sep)[0] === '..' ? file : way;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
}

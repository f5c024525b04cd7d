import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createFolder } from '../../common/createFolder.ts';
import { packageUrl } from '../../common/entries.ts';
import { StudioError } from '../../common/errors.ts';
import { writeEditorTypes } from '../../tools/editorTypes.ts';
import { type Command, textOption } from '../command.ts';

interface Template {
  readonly folder: string;
  readonly title: string;
  /** The batch to run first. */
  readonly batch: string;
}

const TEMPLATES: Readonly<Record<string, Template>> = {
  desk: { folder: 'media/sample', title: 'the sample workspace', batch: 'desk.batch.yaml' },
  gaia: { folder: 'media/gaia', title: 'a workspace for GAIA', batch: 'gaia.batch.yaml' },
};

/** npm excludes `.gitignore` files from packages, so the templates store it under another name. */
const GITIGNORE = { packed: 'gitignore', written: '.gitignore' };

export const init: Command = {
  name: 'init',
  usage: '[DIR] [--template desk|gaia]',
  text:
    'Creates a workspace from a template: desk is a sample (a library’s lending desk with agent, tools, world, ' +
    'tasks, and batches); gaia has an agent, tools, prompt, and batch for GAIA.',
  options: { template: { type: 'string', value: 'NAME', text: 'desk (the sample) or gaia' } },
  async run(context, commandLine) {
    if (commandLine.words.length > 1) throw new StudioError('usage', `usage: rollout init ${init.usage}`);
    const name = textOption(commandLine, 'template') ?? 'desk';
    const template = Object.hasOwn(TEMPLATES, name) ? TEMPLATES[name] : undefined;
    if (template === undefined)
      throw new StudioError('usage', `Unknown template “${name}”.`, {
        hint: `Available templates: ${Object.keys(TEMPLATES).join(', ')}.`,
      });
    const target = path.resolve(context.cwd, commandLine.words[0] ?? '.');
    const sample = fileURLToPath(packageUrl(template.folder));
    const files = filesBelow(sample).map((file) => ({
      from: file,
      to: file === GITIGNORE.packed ? GITIGNORE.written : file,
    }));
    const existing = files.filter(({ to }) => existsSync(path.join(target, to))).map(({ to }) => to);
    if (existing.length > 0) {
      throw new StudioError(
        'conflict',
        `${target} already contains ${existing.slice(0, 3).join(', ')}${existing.length > 3 ? ', …' : ''}. No files ` +
          'were written.',
        { hint: 'Choose an empty folder: rollout init DIR' },
      );
    }
    for (const { from, to } of files) {
      createFolder(path.dirname(path.join(target, to)), path, mkdirSync);
      copyFileSync(path.join(sample, from), path.join(target, to));
    }
    await writeEditorTypes(target);
    if (context.json) context.printJson({ folder: target, files: files.map(({ to }) => to) });
    else
      context.print(
        `Created ${template.title} in ${target}.\nRun it:  rollout run ` +
          shortestPath(context.cwd, path.join(target, 'batches', template.batch)),
      );
    return 0;
  },
};

/** Returns the path to type in `folder`: relative, or absolute if the file is outside it. */
function shortestPath(folder: string, file: string): string {
  const relative = path.relative(folder, file);
  return relative.split(path.sep)[0] === '..' ? file : relative;
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)));
}

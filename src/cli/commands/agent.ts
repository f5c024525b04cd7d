import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { diskError, diskFiles } from '../../client/disk.ts';
import { createFolder } from '../../common/createFolder.ts';
import { StudioError } from '../../common/errors.ts';
import { importAworld } from '../../config/aworld/aworld.ts';
import { checkFiles } from '../../config/checkFiles.ts';
import { formatProblem } from '../../config/source/problem.ts';
import { readRegularSync } from '../../tools/regularFile.ts';
import { type Command, textOption } from '../command.ts';

export const agent: Command = {
  name: 'agent',
  usage: 'import FILE [--out DIR]',
  text:
    'Creates agent and prompt files from an AWorld agents, task, or swarm file, or from a Markdown agent, including ' +
    'the MCP servers of its mcp_config.',
  options: { out: { type: 'string', value: 'DIR', text: 'folder for agents/ and prompts/ (this folder)' } },
  async run(context, commandLine) {
    const [verb, source = '', ...more] = commandLine.words;
    if (verb !== 'import' || source === '' || more.length > 0)
      throw new StudioError('usage', `usage: rollout agent ${agent.usage}`);
    const file = path.resolve(context.cwd, source);
    const folder = path.dirname(file);
    const imported = importAworld(source, textOf(file, source), folder, (name) =>
      textOf(path.resolve(folder, name), name),
    );
    const out = path.resolve(context.cwd, textOption(commandLine, 'out') ?? '.');
    const existing = imported.files.filter((file) => existsSync(path.join(out, file.path)));
    if (existing.length > 0) {
      throw new StudioError(
        'conflict',
        `${existing.map((file) => file.path).join(', ')} already ${existing.length === 1 ? 'exists' : 'exist'}. ` +
          'No files were written.',
        { hint: 'Choose another folder with --out DIR.' },
      );
    }
    for (const one of imported.files) {
      createFolder(path.dirname(path.join(out, one.path)), path, mkdirSync);
      writeFileSync(path.join(out, one.path), one.text);
    }
    const problems = await checkFiles(
      diskFiles(out),
      imported.files.filter((one) => one.path.startsWith('agents/')).map((one) => path.join(out, one.path)),
    );
    if (context.json) {
      context.printJson({
        folder: out,
        files: imported.files.map((one) => one.path),
        main: imported.main,
        notes: imported.notes,
        problems,
      });
      return 0;
    }
    for (const one of imported.files) context.print(one.path);
    for (const note of imported.notes) context.log(`! ${note}`);
    for (const problem of problems) context.log(formatProblem(problem, diskFiles(out).absolute(out)));
    context.log(`To run the agent, reference ${imported.main} in a batch file.`);
    return 0;
  },
};

function textOf(file: string, label: string): string {
  try {
    return readRegularSync(file);
  } catch (error) {
    throw diskError(label, error);
  }
}

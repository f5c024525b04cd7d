import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { diskFiles } from '../../client/disk.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { importAworld } from '../../config/aworld/aworld.ts';
import { checkFiles } from '../../config/checkFiles.ts';
import { formatProblem } from '../../config/source/problem.ts';
import { type Command, textOption } from '../command.ts';

export const agent: Command = {
  name: 'agent',
  usage: 'import FILE [--out DIR]',
  text:
    'Makes agent and prompt files of an agents, task or swarm file of AWorld, or of a Markdown agent, with the MCP ' +
    'servers of its mcp_config.',
  options: { out: { type: 'string', value: 'DIR', text: 'the folder that gets agents/ and prompts/ (this one)' } },
  async run(context, given) {
    const [verb, source = '', ...more] = given.words;
    if (verb !== 'import' || source === '' || more.length > 0)
      throw new StudioError('usage', `usage: rollout agent ${agent.usage}`);
    const file = path.resolve(context.cwd, source);
    const folder = path.dirname(file);
    const made = importAworld(source, textOf(file, source), folder, (name) => textOf(path.resolve(folder, name), name));
    const out = path.resolve(context.cwd, textOption(given, 'out') ?? '.');
    const taken = made.files.filter((one) => existsSync(path.join(out, one.path)));
    if (taken.length > 0) {
      throw new StudioError(
        'conflict',
        `${taken.map((one) => one.path).join(', ')} ${taken.length === 1 ? 'exists' : 'exist'} already; nothing ` +
          'was written.',
        { hint: 'Choose another folder: --out DIR' },
      );
    }
    for (const one of made.files) {
      mkdirSync(path.dirname(path.join(out, one.path)), { recursive: true });
      writeFileSync(path.join(out, one.path), one.text);
    }
    const problems = await checkFiles(
      diskFiles(out),
      made.files.filter((one) => one.path.startsWith('agents/')).map((one) => path.join(out, one.path)),
    );
    if (context.json) {
      context.printJson({
        folder: out,
        files: made.files.map((one) => one.path),
        main: made.main,
        notes: made.notes,
        problems,
      });
      return 0;
    }
    for (const one of made.files) context.print(one.path);
    for (const note of made.notes) context.tell(`! ${note}`);
    for (const problem of problems) context.tell(formatProblem(problem, diskFiles(out).absolute(out)));
    context.tell(`A batch that names ${made.main} runs it.`);
    return 0;
  },
};

function textOf(file: string, shown: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new StudioError('not_found', `${shown} cannot be read: ${errorText(error)}`, {
      hint: 'Give a file of agents.',
      cause: error,
    });
  }
}

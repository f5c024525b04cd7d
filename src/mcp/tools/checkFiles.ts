import { z } from 'zod';
import { checkDisk } from '../../client/commands/checkDisk.ts';
import { plural } from '../../common/text.ts';
import { formatProblem, hasErrors } from '../../config/source/problem.ts';
import { Room } from '../answers/bounds.ts';
import { defineTool } from '../tool.ts';
import { workspaceFile } from '../workspaceFile.ts';

const problemShape = z.object({
  file: z.string(),
  line: z.number().int(),
  column: z.number().int(),
  severity: z.enum(['error', 'warning']),
  message: z.string(),
  hint: z.string().describe('What to do about it'),
  code: z.string(),
});

export const checkWorkspace = defineTool({
  name: 'check_files',
  title: 'Check files',
  description:
    'Validates agent, world, batch and dataset files of the workspace and loads the modules they name; tells ' +
    'each problem with its line and what to do. Calls no tool. Use it after editing such a file and before ' +
    'launch_batch.',
  input: z.strictObject({
    files: z
      .array(z.string())
      .max(500)
      .default([])
      .describe('From the workspace’s folder; none: all agent, world and batch files below it'),
  }),
  output: z.object({
    files: z.number().int(),
    ok: z.boolean().describe('No errors; there may be warnings'),
    problems: z.array(problemShape),
    left_out: z.number().int().describe('Problems that had no room'),
  }),
  effect: 'read',
  async run({ files }, { session }) {
    const { folder } = session;
    const { paths, problems } = await checkDisk(
      folder,
      files.map((file) => workspaceFile(folder, file)),
      session.loadModules,
    );
    const room = new Room();
    const shown = problems.filter((problem) => room.take(problem));
    const leftOut = problems.length - shown.length;
    const head =
      problems.length === 0
        ? `${plural(paths.length, 'file is', 'files are')} fine.`
        : `${plural(paths.length, 'file')}, ${plural(problems.length, 'problem')}:`;
    return {
      data: {
        files: paths.length,
        ok: !hasErrors(problems),
        left_out: leftOut,
        problems: shown.map(({ file, line, column, severity, message, hint, code }) => ({
          file,
          line,
          column,
          severity,
          message,
          hint,
          code,
        })),
      },
      text: [
        head,
        ...shown.map((problem) => formatProblem(problem, folder)),
        ...(leftOut === 0 ? [] : [`and ${leftOut} more`]),
      ].join('\n'),
    };
  },
});

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
  hint: z.string().describe('How to fix it'),
  code: z.string(),
});

export const checkWorkspace = defineTool({
  name: 'check_files',
  title: 'Check files',
  description:
    'Checks agent, world, batch, and dataset files of the workspace and loads the modules they reference. Reports ' +
    'each problem with its line and a fix. Calls no tools. Use it after editing such a file and before ' +
    'launch_batch.',
  input: z.strictObject({
    files: z
      .array(z.string())
      .max(500)
      .default([])
      .describe('Paths relative to the workspace folder; omit to check all agent, world, and batch files'),
  }),
  output: z.object({
    files: z.number().int(),
    ok: z.boolean().describe('No errors; there may be warnings'),
    problems: z.array(problemShape),
    left_out: z.number().int().describe('Number of problems that are not listed'),
  }),
  effect: 'read',
  async run({ files }, { session }) {
    const { folder } = session;
    const { paths, problems } = await checkDisk(
      folder,
      await Promise.all(files.map((file) => workspaceFile(folder, file))),
      session.loadModules,
      session.env,
      folder,
    );
    const room = new Room();
    const listed = problems.filter((problem) => room.take(problem));
    const leftOut = problems.length - listed.length;
    const head =
      problems.length === 0
        ? `No problems in ${plural(paths.length, 'file')}.`
        : `${plural(paths.length, 'file')}, ${plural(problems.length, 'problem')}:`;
    return {
      data: {
        files: paths.length,
        ok: !hasErrors(problems),
        left_out: leftOut,
        problems: listed.map(({ file, line, column, severity, message, hint, code }) => ({
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
        ...listed.map((problem) => formatProblem(problem, folder)),
        ...(leftOut === 0 ? [] : [`and ${leftOut} more`]),
      ].join('\n'),
    };
  },
});

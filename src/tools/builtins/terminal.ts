import { z } from 'zod';
import type { ToolEnvironment } from '../environment.ts';
import { ignoredLimitsOnce } from '../processes/processLimits.ts';
import { shellCommand } from '../processes/processTree.ts';
import type { Programs } from '../sandbox/programs.ts';
import type { BuiltinTool } from './builtinHost.ts';
import { builtin } from './builtinHost.ts';
import { processOutcome } from './processOutcome.ts';

const SHELL = process.platform === 'win32' ? 'cmd.exe' : '/bin/sh';

/** Creates `execute_command`, which runs a command line in the platform's shell in the working directory. */
export function terminalTools(environment: ToolEnvironment, programs: Programs): BuiltinTool[] {
  const {
    limits,
    pools: { env },
  } = environment;
  const logIgnoredLimits = ignoredLimitsOnce(limits);
  return [
    builtin('terminal', {
      name: 'execute_command',
      description:
        `Runs a command line with ${SHELL} in the working directory and returns its exit code and its output to ` +
        'stdout and stderr. Each call starts a new shell: `cd` and variables do not persist, and background ' +
        'processes are ended.',
      input: z.object({
        command: z.string().min(1).describe('The command line.'),
        timeout: z
          .number()
          .positive()
          .max(3600)
          .optional()
          .describe('Seconds after which it is stopped; its output until then is returned.'),
      }),
      effect: 'irreversible',
      sessionBound: true,
      run: async ({ command, timeout }, context) => {
        logIgnoredLimits(context);
        return processOutcome(
          await programs.run({
            ...shellCommand(command, env),
            signal: context.signal,
            limits,
            timeoutMs: timeout === undefined ? undefined : timeout * 1000,
          }),
        );
      },
    }),
  ];
}

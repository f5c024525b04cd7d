import { z } from 'zod';
import { installHint } from '../../config/needs.ts';
import { type CodeSettings, languagesOf } from '../../config/schema/builtinSettings.ts';
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ToolEnvironment } from '../environment.ts';
import { findProgram } from '../findProgram.ts';
import { ignoredLimitsOnce } from '../processes/processLimits.ts';
import { PYTHONS } from '../processes/processTree.ts';
import type { Programs } from '../sandbox/programs.ts';
import type { BuiltinTool } from './builtinHost.ts';
import { builtin } from './builtinHost.ts';
import { processOutcome } from './processOutcome.ts';

/** Memory that Node.js itself reserves. */
const NODE_OWN_MB = 768;

interface Interpreter {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Overrides the limits of the entry. */
  readonly limits?: ProcessLimits | undefined;
}

const NAMES = { javascript: 'JavaScript (Node.js)', python: 'Python' } as const;

/** Creates `run_code`, which runs JavaScript or Python in a separate process. */
export function codeTools(environment: ToolEnvironment, programs: Programs, settings?: CodeSettings): BuiltinTool[] {
  const {
    limits,
    pools: { env },
  } = environment;
  const logIgnoredLimits = ignoredLimitsOnce(limits);
  const languages = languagesOf(settings);
  const [first = 'javascript'] = languages;
  return [
    builtin('code', {
      name: 'run_code',
      description:
        `Runs a program in ${languages.map((language) => NAMES[language]).join(' or ')} in the working directory ` +
        'and returns its exit code and output. Only files persist between calls.',
      input: z.object({
        code: z.string().min(1).describe('The complete program. Print what you want to see.'),
        language: z.enum(languages).default(first),
        timeout: z
          .number()
          .positive()
          .max(3600)
          .optional()
          .describe('Seconds after which it is stopped; its output until then is returned.'),
      }),
      effect: 'irreversible',
      sessionBound: true,
      run: async ({ code, language, timeout }, context) => {
        logIgnoredLimits(context);
        const interpreter = language === 'python' ? pythonInterpreter(env) : nodeInterpreter(limits);
        return processOutcome(
          await programs.run({
            file: interpreter.file,
            args: interpreter.args,
            env: interpreter.env,
            input: code,
            signal: context.signal,
            limits: interpreter.limits ?? limits,
            timeoutMs: timeout === undefined ? undefined : timeout * 1000,
          }),
        );
      },
    }),
  ];
}

/** Returns the Node.js that runs this process; in VS Code, that is Electron in Node mode. */
function nodeInterpreter(limits: ProcessLimits | undefined): Interpreter {
  const electron = process.versions['electron'] !== undefined;
  const memory = limits?.memory_mb;
  return {
    file: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      ...(memory === undefined ? [] : [`--max-old-space-size=${memory}`]),
      '-',
    ],
    env: electron ? { ELECTRON_RUN_AS_NODE: '1' } : {},
    // Memory of Node.js itself does not count.
    ...(memory === undefined ? {} : { limits: { ...limits, memory_mb: memory + NODE_OWN_MB } }),
  };
}

/**
 * Returns the Python interpreter. Throws ClassedError `tool_error` if there is none: the worker may run on a machine
 * that was not checked.
 */
function pythonInterpreter(env: Readonly<Record<string, string>>): Interpreter {
  const file = findProgram(PYTHONS, env);
  if (file === undefined)
    throw new ClassedError(
      'tool_error',
      `Python is not installed on the machine of this rollout. ${installHint('python')}.`,
    );
  return { file, args: ['-u', '-'], env: { PYTHONIOENCODING: 'utf-8', PYTHONDONTWRITEBYTECODE: '1' } };
}

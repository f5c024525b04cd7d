import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { installHint } from '../../config/needs.ts';
import { type CodeSettings, languagesOf } from '../../config/schema/builtinSettings.ts';
import type { ProcessLimits } from '../../config/schema/processLimits.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { ToolEnvironment } from '../environment.ts';
import { unkeptOnce } from '../processes/processLimits.ts';
import { PYTHONS } from '../processes/processTree.ts';
import { runProcess } from '../processes/runProcess.ts';
import type { BuiltinTool } from './builtinHost.ts';
import { builtin } from './builtinHost.ts';
import { processOutcome } from './processOutcome.ts';

/** What Node.js reserves before it runs anything. */
const NODE_OWN_MB = 768;

interface Interpreter {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where they are not those of the entry. */
  readonly limits?: ProcessLimits | undefined;
}

const NAMES = { javascript: 'JavaScript (Node.js)', python: 'Python' } as const;

/** `run_code`: a program in JavaScript or Python, in a process of its own. */
export function codeTools(environment: ToolEnvironment, settings?: CodeSettings): BuiltinTool[] {
  const {
    cwd,
    limits,
    pools: { env, processGroups },
  } = environment;
  const tell = unkeptOnce(limits);
  const languages = languagesOf(settings);
  const [first = 'javascript'] = languages;
  return [
    builtin('code', {
      name: 'run_code',
      description:
        `Runs a program in ${languages.map((language) => NAMES[language]).join(' or ')} in the working directory ` +
        'and gives its exit code and what it printed. Nothing lasts between calls but files.',
      input: z.object({
        code: z.string().min(1).describe('The whole program. Print what you want to see.'),
        language: z.enum(languages).default(first),
        timeout: z
          .number()
          .positive()
          .max(3600)
          .optional()
          .describe('Seconds after which it is stopped; what it printed until then is given.'),
      }),
      effect: 'irreversible',
      sessionBound: true,
      run: async ({ code, language, timeout }, context) => {
        tell(context);
        const interpreter = language === 'python' ? pythonInterpreter(env) : nodeInterpreter(limits);
        return processOutcome(
          await runProcess({
            file: interpreter.file,
            args: interpreter.args,
            cwd,
            env: { ...env, ...interpreter.env },
            input: code,
            signal: context.signal,
            processGroups,
            limits: interpreter.limits ?? limits,
            timeoutMs: timeout === undefined ? undefined : timeout * 1000,
          }),
        );
      },
    }),
  ];
}

/** The Node that runs us: under VS Code that is Electron, told to be Node. */
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
    // What it takes for itself is none of the program's.
    ...(memory === undefined ? {} : { limits: { ...limits, memory_mb: memory + NODE_OWN_MB } }),
  };
}

/**
 * Throws ClassedError `tool_error` where there is none: the machine of the worker may not be the one that was looked
 * at.
 */
function pythonInterpreter(own: Readonly<Record<string, string>>): Interpreter {
  const file = findProgram(PYTHONS, own);
  if (file === undefined)
    throw new ClassedError(
      'tool_error',
      `There is no Python on the machine of this rollout. ${installHint('python')}.`,
    );
  return { file, args: ['-u', '-'], env: { PYTHONIOENCODING: 'utf-8', PYTHONDONTWRITEBYTECODE: '1' } };
}

/** The first of `names` on the PATH; undefined when none is. */
function findProgram(names: readonly string[], env: Readonly<Record<string, string>>): string | undefined {
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  const ending = process.platform === 'win32' ? '.exe' : '';
  for (const name of names) {
    for (const folder of folders) {
      const file = path.join(folder, `${name}${ending}`);
      if (existsSync(file)) return file;
    }
  }
  return undefined;
}

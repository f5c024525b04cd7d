import { parse } from 'yaml';
import { z } from 'zod';
import { diskFiles } from '../../client/disk.ts';
import { type Launch, launch } from '../../client/launch.ts';
import { launchHeld } from '../../client/launchHeld.ts';
import { readBatch } from '../../client/submitFile.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { formatProblem } from '../../config/source/problem.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import { ENTRY } from '../../protocol/entry.ts';
import { compileCondition } from '../../trace/query.ts';
import { parseFailUnder } from '../../trace/statistics/bar.ts';
import { type Command, flag, numberOption, oneWord, textOption, textOptions } from '../command.ts';
import type { Context } from '../context.ts';
import { followBatch } from '../follow.ts';

const idList = z.array(z.string());
const withTarget = z.looseObject({ target: z.string().optional() });

export const run: Command = {
  name: 'run',
  usage: 'BATCH.yaml',
  text: 'Runs a batch with a progress display and ends with its report. Ctrl-C cancels it.',
  options: {
    attempts: { type: 'string', value: 'N', text: 'attempts per task' },
    limit: { type: 'string', value: 'N', text: 'only the first N tasks' },
    task: { type: 'string', value: 'ID', text: 'only this task; may be repeated', multiple: true },
    'task-file': {
      type: 'string',
      value: 'FILE',
      text: 'only the tasks whose ids are in this file: a JSON array, or one in a line',
    },
    concurrency: { type: 'string', value: 'N|auto', text: 'rollouts at once' },
    seed: { type: 'string', value: 'N', text: 'seed of the batch' },
    hold: {
      type: 'boolean',
      text:
        'for a debugger: the first attempt that comes to a call is held, and attempts count although they are ' +
        'edited',
    },
    'hold-where': {
      type: 'string',
      value: 'CEL',
      text:
        'the first attempt at whose call this is true is held there, e.g. \'tool.name == "refund" && ' +
        "tool.arguments.amount > 100'; the others run on",
    },
    'hold-attempt': {
      type: 'string',
      value: 'N',
      text: 'for a debugger: only attempt N at one task (the first, unless --task) is run, and held at its first call',
    },
    detach: { type: 'boolean', text: 'print the batch’s id and leave it running' },
    'fail-under': {
      type: 'string',
      value: 'pass@K=X',
      text: 'exit 1 when the report stays under this bar; may be repeated',
      multiple: true,
    },
  },
  async run(context, given) {
    const file = oneWord(run, given);
    const tasks = [...textOptions(given, 'task'), ...(await tasksOfFile(textOption(given, 'task-file'), context.cwd))];
    const debugged = numberOption(given, 'hold-attempt', 1);
    const attempts = debugged ?? numberOption(given, 'attempts', 1);
    const limit = debugged === undefined || tasks.length > 0 ? numberOption(given, 'limit', 1) : 1;
    const seed = numberOption(given, 'seed', 0);
    const concurrency = textOption(given, 'concurrency') === 'auto' ? 'auto' : numberOption(given, 'concurrency', 1);
    const bars = textOptions(given, 'fail-under').flatMap(parseFailUnder);
    if (flag(given, 'detach') && bars.length > 0)
      throw new StudioError('usage', '--fail-under needs the end of the batch; --detach does not wait for it.', {
        hint: 'Use rollout report BATCH --fail-under … later.',
      });
    const holding = holdingOf(flag(given, 'hold'), textOption(given, 'hold-where'));
    // The server starts while the files are read.
    const target = context.target ?? (await targetOfFile(context, file));
    const connecting = context.connect(target);
    connecting.catch(() => undefined); // told below, unless the files are wrong
    const { built, warnings } = await readBatch(file, context.cwd, context.env, {
      target,
      ...(attempts === undefined ? {} : { attempts }),
      ...(limit === undefined ? {} : { limit }),
      ...(seed === undefined ? {} : { seed }),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(tasks.length === 0 ? {} : { tasks }),
    });
    for (const warning of warnings) context.tell(formatProblem(warning, context.cwd));
    const connection = await connecting;
    const batch = await (debugged === undefined
      ? launch(connection.api, { ...built, ...holding }, { signal: context.signal })
      : launchHeld(connection.api, built, debugged, 'debugger', context.signal));
    if (flag(given, 'detach')) {
      if (context.json) context.printJson({ batch });
      else context.print(batch);
      return 0;
    }
    context.tell(`batch ${batch}`);
    return followBatch(context, connection, batch, { bars });
  },
};

/** Where the file says that its batch runs. What is wrong with the file is told when it is read as a whole. */
async function targetOfFile(context: Context, file: string): Promise<string> {
  const text = await diskFiles(context.cwd)
    .readText(file)
    .catch((error: unknown) => {
      if (StudioError.is(error) || error instanceof Error) return '';
      throw error;
    });
  const target = withTarget.safeParse(yamlOf(text)).data?.target ?? LOCAL;
  if (target === LOCAL || !context.storeGiven) return target;
  throw new StudioError('usage', `${file} runs on the target ${target}, but a store of this machine was named.`, {
    hint: `Say which is meant: rollout run ${file} --target ${target}, or --target ${LOCAL}.`,
  });
}

function yamlOf(text: string): unknown {
  try {
    return parse(text, { logLevel: 'silent' });
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

/** What holds an attempt, to be set before anything runs. */
function holdingOf(entry: boolean, where: string | undefined): Pick<Launch, 'debug' | 'breakpoints'> {
  if (where !== undefined) compileCondition(where); // a wrong one is told before anything starts
  const first: Breakpoint[] = where === undefined ? [] : [{ id: 'run:first', side: 'before', when: where, once: true }];
  return entry ? { debug: true, breakpoints: [ENTRY, ...first] } : where === undefined ? {} : { breakpoints: first };
}

/** Ids of a file, for a list that is longer than a command line takes: a JSON array, or one in each line. */
async function tasksOfFile(file: string | undefined, cwd: string): Promise<string[]> {
  if (file === undefined) return [];
  const text = await diskFiles(cwd).readText(file);
  const ids = text.trimStart().startsWith('[')
    ? idList.safeParse(jsonOf(text)).data
    : text.split(/\r?\n/).filter((line) => line !== '');
  if (ids === undefined || ids.length === 0)
    throw new StudioError('usage', `The --task-file ${file} names no tasks.`, {
      hint: 'Write a JSON array of ids, or one id in each line.',
    });
  return ids;
}

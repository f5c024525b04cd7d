import { z } from 'zod';
import { diskFiles } from '../../client/disk.ts';
import { type Launch, launch } from '../../client/launch.ts';
import { launchHeld } from '../../client/launchHeld.ts';
import { launchNotice } from '../../client/launchNotice.ts';
import { submissionMeters } from '../../client/simulation/meters.ts';
import { readBatch, sandboxMode } from '../../client/submitFile.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { requireNodeRoom } from '../../client/targets/nodeRoom.ts';
import { estimateText, partsText } from '../../client/text/estimateText.ts';
import { StudioError } from '../../common/errors.ts';
import { jsonOf } from '../../common/json.ts';
import { SANDBOX_MODES } from '../../config/schema/sandboxSection.ts';
import { formatProblem } from '../../config/source/problem.ts';
import { plannedParts } from '../../config/submission/mixPlan.ts';
import type { Submission } from '../../config/submission.ts';
import type { Breakpoint } from '../../protocol/commands.ts';
import { ENTRY } from '../../protocol/entry.ts';
import { compileCondition } from '../../trace/query.ts';
import { parseFailUnder } from '../../trace/statistics/bar.ts';
import type { TaskRecord } from '../../trace/task.ts';
import {
  type Command,
  FAIL_UNDER_OPTION,
  flag,
  HELD_BY_OPTION,
  numberOption,
  oneWord,
  textOption,
  textOptions,
} from '../command.ts';
import type { Context } from '../context.ts';
import { followBatch } from '../follow.ts';
import { GROUP_OPTIONS, groupOptions, groupsOf } from '../groupOptions.ts';
import { targetOfFile } from '../targetOfFile.ts';

const NO_NODE = 'Its pods wait until such a node is added.';
/** Who holds an attempt. */
const BY = 'rollout';
const idList = z.array(z.string());

export const run: Command = {
  name: 'run',
  usage: 'BATCH.yaml',
  text: 'Runs a batch, shows its progress, and prints its report. Ctrl-C cancels the batch.',
  options: {
    attempts: { type: 'string', value: 'N', text: 'attempts per task' },
    limit: { type: 'string', value: 'N', text: 'run only the first N tasks' },
    task: { type: 'string', value: 'ID', text: 'run only this task; repeatable', multiple: true },
    'task-file': {
      type: 'string',
      value: 'FILE',
      text: 'run only the tasks listed in this file: a JSON array of IDs, or one ID per line',
    },
    concurrency: { type: 'string', value: 'N|auto', text: 'number of parallel rollouts' },
    seed: { type: 'string', value: 'N', text: 'seed of the batch' },
    'no-perturb': {
      type: 'boolean',
      text: "inject no faults: ignore the rules of the world's `perturb`, to compare with a batch that has them",
    },
    sandbox: {
      type: 'string',
      value: SANDBOX_MODES.join('|'),
      text: 'where the programs of tools run if the batch file does not say it; also ROLLOUT_SANDBOX',
    },
    hold: {
      type: 'boolean',
      text:
        'for a debugger: hold the first attempt that reaches a call; edited attempts still count, so the batch is a ' +
        'debug run',
    },
    'hold-where': {
      type: 'string',
      value: 'CEL',
      text:
        'hold the first attempt that reaches a call matching this condition, e.g. \'tool.name == "refund" && ' +
        "tool.arguments.amount > 100'; the others keep running; task.answer is null before scoring",
    },
    'hold-attempt': {
      type: 'string',
      value: 'N',
      text: 'for a debugger: run only attempt N of one task (the first, or that of --task), held at its first call',
    },
    ...HELD_BY_OPTION,
    'dry-run': {
      type: 'boolean',
      text: 'only check the files, and print how many tokens the batch will use and what they cost',
    },
    ...GROUP_OPTIONS,
    detach: { type: 'boolean', text: 'print the ID of the batch and leave it running' },
    ...FAIL_UNDER_OPTION,
  },
  async run(context, commandLine) {
    const file = oneWord(run, commandLine);
    const tasks = [
      ...textOptions(commandLine, 'task'),
      ...(await tasksOfFile(textOption(commandLine, 'task-file'), context.cwd)),
    ];
    const debugged = numberOption(commandLine, 'hold-attempt', 1);
    const attempts = debugged ?? numberOption(commandLine, 'attempts', 1);
    const limit = debugged === undefined || tasks.length > 0 ? numberOption(commandLine, 'limit', 1) : 1;
    const seed = numberOption(commandLine, 'seed', 0);
    const sandbox = sandboxMode(textOption(commandLine, 'sandbox'));
    const concurrency =
      textOption(commandLine, 'concurrency') === 'auto' ? 'auto' : numberOption(commandLine, 'concurrency', 1);
    const bars = textOptions(commandLine, 'fail-under').flatMap(parseFailUnder);
    if (flag(commandLine, 'detach') && bars.length > 0)
      throw new StudioError('usage', '--fail-under cannot be combined with --detach.', {
        hint: 'When the batch has ended, use rollout report BATCH --fail-under ….',
      });
    const forTrainer = groupOptions(commandLine);
    const heldBy = textOption(commandLine, 'held-by');
    const hold = holdOptions(flag(commandLine, 'hold'), textOption(commandLine, 'hold-where'), heldBy);
    // Let the server start while the files are read.
    const target = context.target ?? (await targetOfFile(context, file, run.name));
    const isDry = flag(commandLine, 'dry-run');
    const connecting = isDry ? undefined : context.connect(target);
    connecting?.catch(() => undefined); // awaited below, unless reading the files fails first
    const {
      built,
      warnings,
      estimate,
      group: section,
    } = await readBatch(file, context, context.env, {
      target,
      connect: async () => (await (connecting ?? context.connect(target))).api,
      signal: context.signal,
      ...(debugged === undefined ? {} : { allTasks: true }),
      ...(attempts === undefined ? {} : { attempts }),
      ...(limit === undefined ? {} : { limit }),
      ...(seed === undefined ? {} : { seed }),
      ...(sandbox === undefined ? {} : { sandbox }),
      ...(flag(commandLine, 'no-perturb') ? { noPerturb: true } : {}),
      ...(concurrency === undefined ? {} : { concurrency }),
      ...(tasks.length === 0 ? {} : { tasks }),
    });
    for (const warning of warnings) context.log(formatProblem(warning, context.cwd));
    for (const { text } of await submissionMeters(built.submission, context.env, context.signal)) context.log(text);
    if (connecting === undefined) {
      const estimated = await estimate();
      const parts = await plannedParts(built.submission, built.tasks);
      if (context.json) context.printJson({ estimate: estimated, ...(parts.length === 0 ? {} : { parts }), warnings });
      else context.print([estimateText(estimated), ...partsText(parts)].join('\n'));
      return 0;
    }
    const group = groupsOf(forTrainer, section);
    const connection = await connecting;
    const notice =
      debugged === undefined
        ? await launchNotice(connection.api, built.submission, async () => (await estimate()).attempts)
        : undefined;
    if (notice !== undefined) context.log(notice);
    const batch = await (debugged === undefined
      ? launch(
          connection.api,
          { ...built, ...hold, ...group },
          {
            signal: context.signal,
            ...(target === LOCAL ? {} : { check: (first) => checkRoom(context, target, built.submission, first) }),
          },
        )
      : launchHeld(connection.api, built, debugged, heldBy ?? 'debugger', context.signal));
    if (flag(commandLine, 'detach') || group.group !== undefined) {
      if (context.json) context.printJson({ batch, warnings });
      else context.print(batch);
      return 0;
    }
    context.log(`batch ${batch}`);
    return followBatch(context, connection, batch, { bars });
  },
};

async function checkRoom(
  { targets, signal, log }: Context,
  name: string,
  submission: Submission,
  tasks: readonly TaskRecord[],
): Promise<void> {
  const shortage = await requireNodeRoom([name, targets.get(name)], submission, tasks, signal);
  if (shortage !== undefined) log(`${shortage} ${NO_NODE}`);
}

/** Returns the launch options that hold an attempt. They must be set before the batch starts. */
function holdOptions(entry: boolean, where: string | undefined, by = BY): Pick<Launch, 'debug' | 'breakpoints'> {
  if (where !== undefined) compileCondition(where); // fail early, before anything starts
  const first: Breakpoint[] =
    where === undefined ? [] : [{ id: 'run:first', by, side: 'before', when: where, once: true }];
  return entry
    ? { debug: true, breakpoints: [{ ...ENTRY, by }, ...first] }
    : where === undefined
      ? {}
      : { breakpoints: first };
}

/** Reads task IDs from a file: a JSON array, or one ID per line. */
async function tasksOfFile(file: string | undefined, cwd: string): Promise<string[]> {
  if (file === undefined) return [];
  const text = await diskFiles(cwd).readText(file);
  const ids = text.trimStart().startsWith('[')
    ? idList.safeParse(jsonOf(text)).data
    : text.split(/\r?\n/).filter((line) => line !== '');
  if (ids === undefined || ids.length === 0)
    throw new StudioError('usage', `The --task-file ${file} contains no task IDs.`, {
      hint: 'Write a JSON array of IDs, or one ID per line.',
    });
  return ids;
}

import path from 'node:path';
import { openPublished } from '../../client/published/open.ts';
import { type FileProblem, problemText } from '../../client/published/problems.ts';
import { type PublishedWorlds, type ScenarioSummary, scenarioNamed } from '../../client/published/worlds.ts';
import { table } from '../../client/text/table.ts';
import { StudioError } from '../../common/errors.ts';
import { oneLine, plural } from '../../common/text.ts';
import { type Command, type CommandLine, numberOption, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';
import { drive } from './world/drive.ts';
import { fidelity } from './world/fidelity.ts';
import { image } from './world/image.ts';
import { lint } from './world/lint.ts';
import { prompt } from './world/prompt.ts';
import { lintRuns } from './world/runs.ts';
import { setup } from './world/setup.ts';
import { verify } from './world/verify.ts';

const LISTED = 50;
/** Problems that are printed unless all of them are wanted, with --json. */
const PROBLEMS = 10;

export const world: Command = {
  name: 'world',
  usage:
    'list FOLDER [WORD…] | show FOLDER SCENARIO [--part PART [--task N]] | lint WORLD [SCENARIO…] [--runs BATCH] | ' +
    'lint --runs BATCH [--out FILE] | drive WORLD [--scenario SCENARIO] [--task ID] | ' +
    'prompt WORLD|BATCH [--task ID] | setup [--yes] | ' +
    'image WORLD [--out FOLDER] | verify [ROLLOUT…] [--with FILE] | ' +
    'fidelity BATCH|BATCH/TASK|ROLLOUT… --world FILE [--free] [--judge JUDGE] [--most N]',
  text:
    'Lists, shows, and checks the scenarios of published worlds: a folder in the format of Agent World Model or ' +
    'Agent-World. `list` finds scenarios whose name, description, tasks, tables, or tools contain all words. `lint` ' +
    'reports what is wrong with scenarios of a folder or a world file, with places, and exits with 1 if there are ' +
    'errors. `drive` opens a world for a task and answers JSON lines on stdin: call, go, verify, keep, states. ' +
    '`prompt` prints the system prompt of a simulated world, filled for a task, as its model gets it. ' +
    '`setup` makes the Python environment with the packages that code worlds need. `image` prints the recipe of an ' +
    'image with them, for pods, or writes it to a folder, and says how to build and use it. ' +
    '`verify` runs the current verifier of a world on the stored final states of rollouts, or of a batch, ' +
    'and prints which verdicts it would flip; nothing is recorded. Without rollouts, a verifier of an extracted ' +
    'scenario runs on the newest ones of its task. `fidelity` measures how well a world predicts what recorded calls ' +
    'returned, as a batch: it replays the recordings, calls only the models of the world and of the judge, and ' +
    'reports accuracy by tool and by turn, and the worst calls.',
  options: {
    limit: { type: 'string', value: 'N', text: `list: number of scenarios to list (${LISTED})` },
    batch: { type: 'string', value: 'FILE', text: 'drive, prompt: batch file whose tasks the world is opened for' },
    scenario: {
      type: 'string',
      value: 'SCENARIO',
      text: 'drive: scenario of published worlds whose own tasks are used (that of the world file)',
    },
    keep: {
      type: 'string',
      value: 'AS',
      text: 'drive: keep the session at the end as demonstration, solution, or test',
    },
    part: { type: 'string', value: 'PART', text: 'show: print one part as published, e.g. code' },
    task: {
      type: 'string',
      value: 'TASK',
      text: 'show: task whose part is printed, from 0 (0); drive, prompt: ID of the task (the first)',
    },
    static: { type: 'boolean', text: 'lint: run none of the code of the scenarios' },
    runs: {
      type: 'string',
      value: 'BATCH',
      text:
        'lint: measure verifiers from passing rollouts of this batch (the newest batches); without WORLD: find its ' +
        'tasks whose failures all blame their world',
    },
    out: {
      type: 'string',
      value: 'PATH',
      text: 'lint --runs: file for the IDs of the other tasks, for run --task-file; image: folder for the Dockerfile',
    },
    with: {
      type: 'string',
      value: 'FILE',
      text: 'verify: the module with the verifier, a verifier of an extracted scenario, or a world file',
    },
    python: {
      type: 'string',
      value: 'PROGRAM',
      text: 'lint: the Python interpreter that analyzes (python3)',
    },
    yes: { type: 'boolean', text: 'setup: install without asking' },
    world: { type: 'string', value: 'FILE', text: 'fidelity: the world file to compare with the recordings' },
    free: {
      type: 'boolean',
      text: 'fidelity: the world continues from its own answers, not from the recorded ones: shows where it drifts',
    },
    judge: {
      type: 'string',
      value: 'JUDGE',
      text: 'fidelity: a model that gives marks: a file whose scorer is a judge, or NAME@ENDPOINT',
    },
    most: { type: 'string', value: 'N', text: 'fidelity: compare at most N rollouts' },
    estimate: { type: 'boolean', text: 'fidelity: print the number of calls, tokens, and the cost, and run nothing' },
    'fail-under': { type: 'string', value: 'X', text: 'fidelity: exit with 1 if the accuracy is below X, from 0 to 1' },
    detach: { type: 'boolean', text: 'fidelity: print the ID of the batch and leave it running' },
  },
  async run(context, commandLine) {
    const [verb, folder, ...words] = commandLine.words;
    if (verb === 'setup' && folder === undefined) return await setup(context, commandLine);
    if (verb === 'fidelity') return await fidelity(context, commandLine.words.slice(1), commandLine);
    if (verb === 'verify') return await verify(context, commandLine.words.slice(1), commandLine);
    const runs = textOption(commandLine, 'runs');
    if (verb === 'lint' && folder === undefined && runs !== undefined)
      return await lintRuns(context, runs, commandLine);
    if (verb === 'drive' && folder !== undefined && words.length === 0)
      return await drive(context, folder, commandLine);
    if (verb === 'prompt' && folder !== undefined && words.length === 0)
      return await prompt(context, folder, commandLine);
    if (verb === 'image' && folder !== undefined && words.length === 0)
      return await image(context, folder, commandLine);
    if (verb === 'lint' && folder !== undefined) return await lint(context, folder, words, commandLine);
    const run = verb === 'list' ? list : verb === 'show' && words.length === 1 ? show : undefined;
    if (run === undefined || folder === undefined)
      throw new StudioError('usage', `usage: rollout world ${world.usage}`, {
        hint: 'See all options with rollout world --help.',
      });
    const opened = await openPublished(path.resolve(context.cwd, folder), context.signal);
    try {
      return await run(context, opened, words, commandLine);
    } finally {
      await opened.close();
    }
  },
};

async function list(
  context: Context,
  folder: PublishedWorlds,
  words: readonly string[],
  commandLine: CommandLine,
): Promise<Outcome> {
  const found = words.length === 0 ? folder.scenarios : await folder.search(words.join(' '), context.signal);
  const listed = found.slice(0, numberOption(commandLine, 'limit', 1) ?? LISTED);
  if (context.json) {
    context.printJson({ folder: folder.folder, scenarios: listed, matches: found.length, problems: folder.problems });
    return 0;
  }
  const width = Math.max(30, context.terminal.width - 40);
  context.print(
    table(
      [
        ['scenario', 'tasks', 'description'],
        ...listed.map(({ key, tasks, description }) => [key, String(tasks.length), oneLine(description, width)]),
      ],
      [1],
    ),
  );
  logProblems(context, folder.problems);
  context.log(
    `${listed.length} of ${plural(found.length, 'scenario')}. Show one with rollout world show ${folder.folder} ` +
      'SCENARIO.',
  );
  return 0;
}

async function show(
  context: Context,
  worlds: PublishedWorlds,
  [name = '']: readonly string[],
  commandLine: CommandLine,
): Promise<Outcome> {
  const scenario = scenarioNamed(worlds, name);
  const part = textOption(commandLine, 'part');
  if (part !== undefined) {
    const text = await readPart(context, worlds, scenario, part, numberOption(commandLine, 'task', 0) ?? 0);
    if (context.json) context.printJson({ scenario: scenario.key, part, text });
    else context.print(text);
    return 0;
  }
  const { tables, tools, codeLines, verifiers } = await worlds.details(scenario.key, context.signal);
  if (context.json) {
    const { problems } = worlds;
    context.printJson({ ...scenario, tables, tools, code_lines: codeLines, verifiers, problems });
    return 0;
  }
  const judged = (task: number): string => verifiers[task]?.join(', ') || 'none';
  const hasRequests = tools.some(({ request }) => request !== undefined);
  context.print(
    [
      scenario.name,
      scenario.description,
      table([['task', 'verifiers', 'text'], ...scenario.tasks.map((text, at) => [String(at), judged(at), text])], [0]),
      table([['table', 'rows'], ...tables.map((each) => [each.name, String(each.rows)])], [1]),
      table([
        ['tool', ...(hasRequests ? ['request'] : []), 'summary'],
        ...tools.map((tool) => [tool.name, ...(hasRequests ? [tool.request ?? ''] : []), oneLine(tool.summary, 100)]),
      ]),
    ].join('\n\n'),
  );
  logProblems(context, worlds.problems);
  context.log(
    codeLines === 0
      ? 'The files have no code for it, so it cannot run.'
      : `${plural(codeLines, 'line')} of code. Print them with --part code.`,
  );
  return 0;
}

async function readPart(
  { signal }: Context,
  worlds: PublishedWorlds,
  { key }: ScenarioSummary,
  name: string,
  task: number,
): Promise<string> {
  if (!worlds.parts.includes(name))
    throw new StudioError('usage', `There is no part “${name}” in the format of ${worlds.format}.`, {
      hint: `Parts: ${worlds.parts.join(', ')}.`,
    });
  const text = await worlds.part(name, key, task, signal);
  if (text !== undefined) return text;
  throw new StudioError('not_found', `The files have no ${name} of ${key} for task ${task}.`);
}

function logProblems(context: Context, problems: readonly FileProblem[]): void {
  for (const problem of problems.slice(0, PROBLEMS)) {
    context.log(`✗ ${problemText(problem)}${problem.hint === undefined ? '' : ` — ${problem.hint}`}`);
  }
  if (problems.length > PROBLEMS)
    context.log(`… and ${plural(problems.length - PROBLEMS, 'more problem')}: list all with --json.`);
}

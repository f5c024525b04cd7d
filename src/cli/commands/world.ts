import path from 'node:path';
import { AwmFolder, type ScenarioSummary } from '../../client/published/awmFolder.ts';
import { type FileProblem, problemText } from '../../client/published/problems.ts';
import { table } from '../../client/text/table.ts';
import { StudioError } from '../../common/errors.ts';
import { oneLine, plural } from '../../common/text.ts';
import { AWM_FILES, AWM_PARTS, type AwmPart, type AwmRow } from '../../formats/awm.ts';
import { type Command, type CommandLine, numberOption, type Outcome, textOption } from '../command.ts';
import type { Context } from '../context.ts';

const LISTED = 50;
/** Problems that are printed unless all of them are wanted, with --json. */
const PROBLEMS = 10;

export const world: Command = {
  name: 'world',
  usage: 'list FOLDER [WORD…] | show FOLDER SCENARIO [--part PART [--task N]]',
  text:
    'Lists and shows the scenarios of published worlds: a folder in the format of Agent World Model. `list` finds ' +
    'scenarios whose name, description, tasks, tables, or tools contain all words.',
  options: {
    limit: { type: 'string', value: 'N', text: `list: number of scenarios to list (${LISTED})` },
    part: { type: 'string', value: 'PART', text: `show: print one part as published: ${AWM_PARTS.join(', ')}` },
    task: { type: 'string', value: 'N', text: 'show: task of the verifier to print, from 0 (0)' },
  },
  async run(context, commandLine) {
    const [verb, folder, ...words] = commandLine.words;
    const run = verb === 'list' ? list : verb === 'show' && words.length === 1 ? show : undefined;
    if (run === undefined || folder === undefined)
      throw new StudioError('usage', `usage: rollout world ${world.usage}`, {
        hint: 'See all options with rollout world --help.',
      });
    const at = path.resolve(context.cwd, folder);
    const found = AwmFolder.folderOf(at);
    if (found === undefined)
      throw new StudioError('config', `There are no published worlds in ${at}.`, {
        hint: `Name the folder that contains ${AWM_FILES.scenario}.`,
      });
    const opened = await AwmFolder.open(found, context.signal);
    try {
      return await run(context, opened, words, commandLine);
    } finally {
      await opened.close();
    }
  },
};

async function list(
  context: Context,
  folder: AwmFolder,
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
  folder: AwmFolder,
  [name = '']: readonly string[],
  commandLine: CommandLine,
): Promise<Outcome> {
  const scenario = folder.scenario(name);
  const part = textOption(commandLine, 'part');
  if (part !== undefined) {
    await printPart(context, folder, scenario, partNamed(part), numberOption(commandLine, 'task', 0) ?? 0);
    return 0;
  }
  const { signal } = context;
  const [schema, rows, spec, code, codeVerifiers, sqlVerifiers] = [
    await folder.read('schema', scenario.key, signal),
    await folder.read('rows', scenario.key, signal),
    await folder.read('spec', scenario.key, signal),
    await folder.read('code', scenario.key, signal),
    await folder.verified('codeVerifier', scenario.key, signal),
    await folder.verified('sqlVerifier', scenario.key, signal),
  ];
  const tables = tablesOf(schema, rows);
  const tools = toolsOf(spec);
  const codeLines = code?.full_code.split('\n').length ?? 0;
  if (context.json) {
    context.printJson({
      ...scenario,
      tables,
      tools,
      code_lines: codeLines,
      verifiers: { code: codeVerifiers, sql: sqlVerifiers },
      problems: folder.problems,
    });
    return 0;
  }
  context.print(`${scenario.name}\n\n${scenario.description}\n`);
  const mark = (index: number): string => {
    const kinds = [
      ...(codeVerifiers.includes(index) ? ['code'] : []),
      ...(sqlVerifiers.includes(index) ? ['SQL'] : []),
    ];
    return kinds.length === 0 ? 'none' : kinds.join(', ');
  };
  context.print(
    table(
      [['task', 'verifiers', 'text'], ...scenario.tasks.map((text, index) => [String(index), mark(index), text])],
      [0],
    ),
  );
  context.print(`\n${table([['table', 'rows'], ...tables.map((each) => [each.name, String(each.rows)])], [1])}`);
  context.print(
    `\n${table([['tool', 'request', 'summary'], ...tools.map((tool) => [tool.name, tool.request, tool.summary])])}`,
  );
  logProblems(context, folder.problems);
  context.log(
    codeLines === 0
      ? 'The files have no code for it, so it cannot run.'
      : `${plural(codeLines, 'line')} of code. Print them with --part code.`,
  );
  return 0;
}

async function printPart(
  context: Context,
  folder: AwmFolder,
  { key }: ScenarioSummary,
  part: AwmPart,
  task: number,
): Promise<void> {
  const isVerifier = part === 'codeVerifier' || part === 'sqlVerifier';
  const row = await folder.read(part, key, context.signal, isVerifier ? task : undefined);
  if (row === undefined)
    throw new StudioError(
      'not_found',
      `${AWM_FILES[part]} has no row for ${key}${isVerifier ? `, task ${task}` : ''}.`,
    );
  context.print(
    context.json || !('full_code' in row || 'verification' in row) ? JSON.stringify(row, null, 2) : textOf(row),
  );
}

function textOf(row: AwmRow<'code'> | AwmRow<'codeVerifier'>): string {
  return 'full_code' in row ? row.full_code : row.verification.code;
}

function partNamed(name: string): AwmPart {
  const part = AWM_PARTS.find((each) => each === name);
  if (part !== undefined) return part;
  throw new StudioError('usage', `There is no part “${name}”.`, { hint: `Parts: ${AWM_PARTS.join(', ')}.` });
}

function tablesOf(
  schema: AwmRow<'schema'> | undefined,
  rows: AwmRow<'rows'> | undefined,
): { readonly name: string; readonly rows: number }[] {
  const counts = new Map(
    rows?.sample_data.tables.map(({ table_name, insert_statements }) => [table_name, insert_statements.length]),
  );
  return schema?.db_schema.tables.map(({ name }) => ({ name, rows: counts.get(name) ?? 0 })) ?? [];
}

function toolsOf(
  spec: AwmRow<'spec'> | undefined,
): { readonly name: string; readonly request: string; readonly summary: string }[] {
  return (
    spec?.api_spec.api_groups.flatMap(({ endpoints }) =>
      endpoints.map(({ operation_id, method, path: at, summary }) => ({
        name: operation_id,
        request: `${method.toUpperCase()} ${at}`,
        summary,
      })),
    ) ?? []
  );
}

function logProblems(context: Context, problems: readonly FileProblem[]): void {
  for (const problem of problems.slice(0, PROBLEMS)) {
    context.log(`✗ ${problemText(problem)}${problem.hint === undefined ? '' : ` — ${problem.hint}`}`);
  }
  if (problems.length > PROBLEMS)
    context.log(`… and ${plural(problems.length - PROBLEMS, 'more problem')}: list all with --json.`);
}

/** The scenarios of a code world: their names, from its published files. */
import { AGENT_WORLD_FOLDERS } from '../../formats/agentWorld.ts';
import { keyOf, scenarioKey } from '../../formats/awm.ts';
import { AWM_FILES } from '../../formats/awmFiles.ts';
import { recordProblem } from '../dataset/dataset.ts';
import { jsonlRecords } from '../dataset/jsonl.ts';
import { NotUtf8 } from '../dataset/text.ts';
import { basename, dirname, joinPath } from '../paths.ts';
import type { WorldFormat } from '../schema/codeWorld.ts';
import type { WorldFile } from '../schema/worldFile.ts';
import type { ParsedFile, ProblemText } from '../source/parse.ts';
import { closest } from '../source/suggest.ts';
import type { Reading } from './reading.ts';

export interface Scenarios {
  readonly format: WorldFormat;
  /** Absolute path of the folder with the published files. */
  readonly folder: string;
  readonly names: ReadonlySet<string>;
}

const MAX_PROBLEMS = 20;

const EXAMPLES: Readonly<Record<WorldFormat, string>> = {
  awm: AWM_FILES.scenario,
  'agent-world': `${AGENT_WORLD_FOLDERS.environments}/`,
};

/** Whether a folder with these names in it, those of folders with `/` at the end, has published worlds. */
export function isWorldFolder(names: readonly string[]): boolean {
  return names.some((name) => Object.values(EXAMPLES).includes(name));
}

/** Reads the names of the scenarios; reports why it cannot, and what is wrong with the file of names. */
export async function readScenarios(
  reading: Reading,
  parsed: ParsedFile,
  { format, from }: Partial<WorldFile>,
): Promise<Scenarios | undefined> {
  for (const [key, example] of [
    ['format', 'awm'],
    ['from', 'awm-1k'],
  ] as const)
    if (!parsed.has([key]))
      reading.report(parsed, [], {
        code: 'missing',
        message: `\`${key}\` is missing`,
        hint: `Add \`${key}: ${example}\`.`,
        fixes: [{ do: 'insert', path: [], key, value: example }],
      });
  if (format === undefined || from === undefined) return undefined;
  if (typeof from !== 'string') {
    reading.report(parsed, ['from'], {
      code: 'value',
      message: 'a world of kind `code` has one `from`',
      hint: 'Write the path of a folder, or of a file in it.',
    });
    return undefined;
  }
  const located = await reading.locate(parsed, ['from'], from, undefined, 'any');
  if (located === undefined) return undefined;
  const isFolder = (await reading.files.stat(located))?.kind === 'folder';
  const folder = isFolder ? located : dirname(located);
  const has = async (other: WorldFormat): Promise<boolean> =>
    (await reading.files.stat(joinPath(folder, EXAMPLES[other]))) !== undefined;
  if (!(await has(format))) {
    const other: WorldFormat = format === 'awm' ? 'agent-world' : 'awm';
    const isOther = await has(other);
    reading.report(parsed, [isOther ? 'format' : 'from'], {
      code: isOther ? 'conflict' : 'file',
      message: `${basename(folder)} has no ${EXAMPLES[format]}`,
      hint: isOther ? `Write \`format: ${other}\`.` : `Name the folder that contains ${EXAMPLES[format]}.`,
      ...(isOther ? { fixes: [{ do: 'replace', text: other }] } : {}),
    });
    return undefined;
  }
  const names = format === 'awm' ? await awmNames(reading, folder) : await agentWorldNames(reading, folder);
  return { format, folder, names };
}

/** Returns the name by which a scenario is found in its files. */
export function scenarioName({ format }: Pick<Scenarios, 'format'>, written: string): string {
  return format === 'awm' ? scenarioKey(written) : written;
}

/** Reports a scenario that does not exist. */
export function checkScenario(
  scenarios: Scenarios,
  written: string,
  report: (problem: ProblemText) => void,
  subject = '',
): boolean {
  const name = scenarioName(scenarios, written);
  if (scenarios.names.has(name)) return true;
  const near = closest(name, scenarios.names);
  report({
    code: 'value',
    message: `${subject}there is no scenario \`${written}\` in ${basename(scenarios.folder)}`,
    hint:
      near === undefined
        ? `To list the scenarios, run rollout world list ${scenarios.folder}.`
        : `Did you mean \`${near}\`?`,
    ...(near === undefined ? {} : { fixes: [{ do: 'replace', text: near }] }),
  });
  return false;
}

async function awmNames(reading: Reading, folder: string): Promise<Set<string>> {
  const file = joinPath(folder, AWM_FILES.scenario);
  const lines = new Map<string, number>();
  let problems = 0;
  const add = (line: number, column: number, what: { message: string; hint: string }): void => {
    if (problems++ < MAX_PROBLEMS) reading.problems.push(recordProblem(file, { line, column }, what));
  };
  try {
    for await (const record of jsonlRecords(reading.files.bytes(file))) {
      const { line, column } = record;
      if ('error' in record) {
        add(line, column, { ...record.error, hint: `${record.error.hint} If it is cut off, download the file again.` });
        continue;
      }
      const name = keyOf(record.value, 'scenario')?.scenario;
      const first = name === undefined ? undefined : lines.get(name);
      if (name === undefined)
        add(line, column, { message: 'the row names no scenario', hint: 'Add its `name`, or remove the row.' });
      else if (first === undefined) lines.set(name, line);
      else
        add(line, column, {
          message: `the scenario \`${name}\` is already in line ${first}`,
          hint: 'Remove one of the two rows.',
        });
    }
  } catch (thrown) {
    if (thrown instanceof NotUtf8)
      add(thrown.line, 1, { message: 'the file is not UTF-8 text', hint: 'Download the file again.' });
    else reading.unreadable(file, thrown);
  }
  return new Set(lines.keys());
}

async function agentWorldNames(reading: Reading, folder: string): Promise<Set<string>> {
  const names = await reading.files.list(joinPath(folder, AGENT_WORLD_FOLDERS.environments));
  return new Set(names.flatMap((name) => (name.endsWith('/') ? [name.slice(0, -1)] : [])));
}

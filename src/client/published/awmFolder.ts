/** Reads the published files of Agent World Model, row by row: some have hundreds of megabytes. */
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { errorText, StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import { AWM_FILES, AWM_ROWS, type AwmPart, type AwmRow, keyAtStart, keyOf } from '../../formats/awm.ts';
import { type Line, readLine, visitLines } from './lines.ts';
import { type FileProblem, problemText } from './problems.ts';

/** Bytes at the ends of a line that are looked at. Names are shorter. */
const EDGE = 512;

/** A scenario in a list. */
export interface ScenarioSummary {
  /** The name by which tasks and commands mean it. */
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly tasks: readonly string[];
}

/** The names in a scenario, for searches. */
interface ScenarioNames {
  readonly tables: readonly string[];
  readonly tools: readonly string[];
}

/** Where the rows of a part are: by scenario, verifiers by scenario and task. */
type PartIndex = ReadonlyMap<string, Line>;

interface Part {
  readonly handle: FileHandle;
  readonly index: PartIndex;
}

export class AwmFolder {
  readonly folder: string;
  /** What is wrong with the files that were read so far. */
  readonly problems: FileProblem[] = [];
  readonly scenarios: readonly ScenarioSummary[];
  readonly #byKey: ReadonlyMap<string, ScenarioSummary>;
  readonly #parts = new Map<AwmPart, Promise<Part | undefined>>();
  #names: Promise<ReadonlyMap<string, ScenarioNames>> | undefined;

  private constructor(folder: string, scenarios: readonly ScenarioSummary[], problems: readonly FileProblem[]) {
    this.folder = folder;
    this.scenarios = scenarios;
    this.problems.push(...problems);
    this.#byKey = new Map(scenarios.map((scenario) => [scenario.key, scenario]));
  }

  /** Whether a folder, or the folder of a file, has the published files. */
  static folderOf(at: string): string | undefined {
    const folder = statSync(at, { throwIfNoEntry: false })?.isDirectory() === true ? at : path.dirname(at);
    return existsSync(path.join(folder, AWM_FILES.scenario)) ? folder : undefined;
  }

  /** Reads the scenarios and their tasks. Throws StudioError `config` if there are none. */
  static async open(folder: string, signal: AbortSignal): Promise<AwmFolder> {
    const problems: FileProblem[] = [];
    const scenarios = new Map<string, { name: string; description: string; tasks: readonly string[] }>();
    await eachRow(folder, 'scenario', problems, signal, (key, { name, description }) => {
      scenarios.set(key, { name, description, tasks: [] });
    });
    if (scenarios.size === 0)
      throw new StudioError('config', `${path.join(folder, AWM_FILES.scenario)} has no scenarios.`, {
        hint: problems[0] === undefined ? 'Name the folder with the published files.' : problemText(problems[0]),
      });
    await eachRow(folder, 'tasks', problems, signal, (key, { tasks }, line) => {
      const scenario = scenarios.get(key);
      if (scenario !== undefined) scenario.tasks = tasks;
      else
        problems.push({
          file: AWM_FILES.tasks,
          line,
          message: `there is no scenario ${key}`,
          hint: `Add it to ${AWM_FILES.scenario}, or remove this line.`,
        });
    });
    for (const [key, { tasks }] of scenarios)
      if (tasks.length === 0)
        problems.push({
          file: AWM_FILES.tasks,
          message: `there are no tasks for scenario ${key}`,
          hint: 'Add a line with its tasks.',
        });
    return new AwmFolder(
      folder,
      Array.from(scenarios, ([key, scenario]) => ({ key, ...scenario })),
      problems,
    );
  }

  /**
   * Returns the scenarios whose name, description, tasks, tables, or tools contain all words, in the order of the file.
   * The first search reads the names of tables and tools.
   */
  async search(words: string, signal: AbortSignal): Promise<ScenarioSummary[]> {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const names = await this.#searchNames(signal);
    return this.scenarios.filter((scenario) => {
      const { tables = [], tools = [] } = names.get(scenario.key) ?? {};
      const text = [scenario.name, scenario.key, scenario.description, ...scenario.tasks, ...tables, ...tools]
        .join('\n')
        .toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
  }

  /** Returns a scenario. Throws StudioError `not_found` with similar names. */
  scenario(name: string): ScenarioSummary {
    const found = this.#byKey.get(name) ?? this.scenarios.find((scenario) => scenario.name === name);
    if (found !== undefined) return found;
    const similar = this.scenarios.filter(({ key }) => key.includes(name.toLowerCase())).slice(0, 5);
    throw new StudioError('not_found', `There is no scenario ${name} in ${this.folder}.`, {
      hint:
        similar.length === 0
          ? `List its ${plural(this.scenarios.length, 'scenario')} with rollout world list ${this.folder}.`
          : `Similar: ${similar.map(({ key }) => key).join(', ')}.`,
    });
  }

  /**
   * Reads a part of a scenario; a verifier of the task with this index. Returns undefined if the files have none.
   * Throws StudioError `config`, with file and line, if its row cannot be read.
   */
  async read<Name extends AwmPart>(
    name: Name,
    key: string,
    signal: AbortSignal,
    task?: number,
  ): Promise<AwmRow<Name> | undefined> {
    const part = await this.#part(name, signal);
    const line = part?.index.get(keyText(key, task));
    if (part === undefined || line === undefined) return undefined;
    const row = parseRow(name, await readLine(part.handle, line));
    if ('row' in row) return row.row;
    throw new StudioError('config', problemText({ file: AWM_FILES[name], line: line.number, message: row.problem }), {
      hint: 'Download the file again, or remove this line.',
    });
  }

  /** Returns the indexes of the tasks of a scenario that have this verifier. */
  async verified(name: 'codeVerifier' | 'sqlVerifier', key: string, signal: AbortSignal): Promise<number[]> {
    const index = (await this.#part(name, signal))?.index;
    const { tasks } = this.scenario(key);
    return [...tasks.keys()].filter((task) => index?.has(keyText(key, task)) === true);
  }

  async close(): Promise<void> {
    for (const part of this.#parts.values()) await (await part.catch(() => undefined))?.handle.close();
    this.#parts.clear();
  }

  #part(name: AwmPart, signal: AbortSignal): Promise<Part | undefined> {
    let part = this.#parts.get(name);
    if (part === undefined) {
      part = this.#index(name, signal);
      part.catch(() => this.#parts.delete(name)); // it was cancelled
      this.#parts.set(name, part);
    }
    return part;
  }

  async #index(name: AwmPart, signal: AbortSignal): Promise<Part | undefined> {
    const file = path.join(this.folder, AWM_FILES[name]);
    if (!existsSync(file)) return undefined;
    const handle = await open(file);
    try {
      return { handle, index: await indexRows(handle, name, this.problems, signal) };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  #searchNames(signal: AbortSignal): Promise<ReadonlyMap<string, ScenarioNames>> {
    this.#names ??= this.#readNames(signal).catch((error: unknown) => {
      this.#names = undefined;
      throw error;
    });
    return this.#names;
  }

  async #readNames(signal: AbortSignal): Promise<ReadonlyMap<string, ScenarioNames>> {
    const names = new Map<string, { tables: string[]; tools: string[] }>();
    for (const { key } of this.scenarios) names.set(key, { tables: [], tools: [] });
    const problems: FileProblem[] = []; // those of the rows are found when they are indexed
    await eachRow(this.folder, 'schema', problems, signal, (key, { db_schema }) => {
      names.get(key)?.tables.push(...db_schema.tables.map(({ name }) => name));
    });
    await eachRow(this.folder, 'spec', problems, signal, (key, { api_spec }) => {
      names
        .get(key)
        ?.tools.push(
          ...api_spec.api_groups.flatMap(({ endpoints }) => endpoints.map(({ operation_id }) => operation_id)),
        );
    });
    return names;
  }
}

function keyText(scenario: string, task: number | undefined): string {
  return task === undefined ? scenario : `${scenario}/${task}`;
}

/** Finds the rows of a part. The first row of a key counts. */
async function indexRows(
  handle: FileHandle,
  part: AwmPart,
  problems: FileProblem[],
  signal: AbortSignal,
): Promise<PartIndex> {
  const index = new Map<string, Line>();
  const unknown: Line[] = [];
  const file = AWM_FILES[part];
  const add = (line: Line, key: ReturnType<typeof keyOf>): void => {
    if (key === undefined) {
      problems.push({ file, line: line.number, message: 'the row names no scenario' });
      return;
    }
    const text = keyText(key.scenario, key.task);
    const first = index.get(text);
    if (first === undefined) index.set(text, line);
    else
      problems.push({
        file,
        line: line.number,
        message: `line ${first.number} has ${text}, too, and is used`,
        hint: 'Remove one of the two lines.',
      });
  };
  await visitLines(
    handle,
    EDGE,
    (line, { start, end }) => {
      if (!/\}\s*$/.test(end.toString('latin1'))) {
        problems.push({ file, line: line.number, message: 'the row is cut off', hint: 'Download the file again.' });
        return;
      }
      const key = keyAtStart(start.toString('utf8'), part);
      if (key === undefined) unknown.push(line);
      else add(line, key);
    },
    signal,
  );
  for (const line of unknown) {
    const row = parseJson(await readLine(handle, line));
    if ('problem' in row) problems.push({ file, line: line.number, message: row.problem });
    else add(line, keyOf(row.value, part));
  }
  return index;
}

/** Reads all rows of a part, one after another. Does nothing if there is no such file. */
async function eachRow<Name extends AwmPart>(
  folder: string,
  name: Name,
  problems: FileProblem[],
  signal: AbortSignal,
  visit: (key: string, row: AwmRow<Name>, line: number) => void,
): Promise<void> {
  const file = path.join(folder, AWM_FILES[name]);
  if (!existsSync(file)) return;
  const handle = await open(file);
  try {
    const index = await indexRows(handle, name, problems, signal);
    for (const [key, line] of index) {
      signal.throwIfAborted();
      const row = parseRow(name, await readLine(handle, line));
      if ('row' in row) visit(key, row.row, line.number);
      else problems.push({ file: AWM_FILES[name], line: line.number, message: row.problem });
    }
  } finally {
    await handle.close();
  }
}

function parseRow<Name extends AwmPart>(
  name: Name,
  text: string,
): { readonly row: AwmRow<Name> } | { readonly problem: string } {
  const parsed = parseJson(text);
  if ('problem' in parsed) return parsed;
  const result = AWM_ROWS[name].safeParse(parsed.value);
  if (result.success) return { row: result.data as AwmRow<Name> };
  const [issue] = result.error.issues;
  return { problem: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not a row of this file'}` };
}

function parseJson(text: string): { readonly value: unknown } | { readonly problem: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { problem: `not a JSON object: ${errorText(error)}` };
  }
}

/** Reads the published files of Agent World Model, row by row: some have hundreds of megabytes. */
import { existsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { errorText, StudioError } from '../../common/errors.ts';
import { isJsonObject } from '../../common/json.ts';
import { AWM_ROWS, type AwmRow, keyAtStart, keyOf } from '../../formats/awm.ts';
import { AWM_FILES, AWM_PARTS, type AwmPart, isVerifier, type LoosePart, looseFile } from '../../formats/awmFiles.ts';
import type { TableRows, TaskVerifier } from '../../protocol/worldPage.ts';
import { openRegular } from '../../tools/regularFile.ts';
import { diskFiles } from '../disk.ts';
import { awmRows, awmTables, awmTools, awmVerifiers } from './awmModel.ts';
import { type Line, readLine, visitLines } from './lines.ts';
import { type FileProblem, problemText } from './problems.ts';
import {
  type PublishedWorlds,
  type ScenarioDetails,
  type ScenarioModel,
  type ScenarioSummary,
  scenariosWith,
} from './worlds.ts';

/** Bytes at the ends of a line that are looked at. Names are shorter. */
const EDGE = 512;

/** Where the rows of a part are: by scenario, verifiers by scenario and task. */
type PartIndex = ReadonlyMap<string, Line>;

interface Part {
  readonly handle: FileHandle;
  readonly index: PartIndex;
}

export class AwmFolder implements PublishedWorlds {
  readonly format = 'Agent World Model';
  readonly folder: string;
  readonly parts = AWM_PARTS;
  readonly problems: FileProblem[] = [];
  readonly scenarios: readonly ScenarioSummary[];
  readonly #parts = new Map<AwmPart, Promise<Part | undefined>>();
  /** By scenario: the names of its tables and tools. */
  #names: Promise<ReadonlyMap<string, readonly string[]>> | undefined;

  private constructor(folder: string, scenarios: readonly ScenarioSummary[], problems: readonly FileProblem[]) {
    this.folder = folder;
    this.scenarios = scenarios;
    this.problems.push(...problems);
  }

  /** Whether a folder has such files. */
  static isIn(folder: string): boolean {
    return existsSync(path.join(folder, AWM_FILES.scenario));
  }

  /** Whether there is a file with this part. */
  has(part: AwmPart): boolean {
    return existsSync(path.join(this.folder, AWM_FILES[part]));
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

  /** The first search reads the names of tables and tools. */
  async search(words: string, signal: AbortSignal): Promise<ScenarioSummary[]> {
    const names = await this.#searchNames(signal);
    return scenariosWith(words, this.scenarios, (key) => names.get(key) ?? []);
  }

  async details(key: string, signal: AbortSignal): Promise<ScenarioDetails> {
    const schema = await this.read('schema', key, signal);
    const rows = await this.read('rows', key, signal);
    const spec = await this.read('spec', key, signal);
    const code = await this.read('code', key, signal);
    const counts = new Map(
      rows?.sample_data.tables.map(({ table_name, insert_statements }) => [table_name, insert_statements.length]),
    );
    return {
      tables: schema?.db_schema.tables.map(({ name }) => ({ name, rows: counts.get(name) ?? 0 })) ?? [],
      tools:
        spec?.api_spec.api_groups.flatMap(({ endpoints }) =>
          endpoints.map(({ operation_id, method, path: at, summary }) => ({
            name: operation_id,
            request: `${method.toUpperCase()} ${at}`,
            summary,
          })),
        ) ?? [],
      codeLines: code?.full_code.split('\n').length ?? 0,
      verifiers: await this.#verifierKinds(key, signal),
    };
  }

  async model(key: string, signal: AbortSignal): Promise<ScenarioModel> {
    const schema = await this.read('schema', key, signal);
    const rows = await this.read('rows', key, signal);
    const spec = await this.read('spec', key, signal);
    const code = (await this.read('code', key, signal))?.full_code;
    return {
      tables: awmTables(schema, rows),
      tools: awmTools(spec, code ?? ''),
      codeLines: code?.split('\n').length ?? 0,
      verifiers: await this.#verifierKinds(key, signal),
    };
  }

  async rows(key: string, table: string, signal: AbortSignal): Promise<TableRows> {
    const rows = awmRows(await this.read('schema', key, signal), await this.read('rows', key, signal), table);
    if (rows !== undefined) return rows;
    throw new StudioError('not_found', `The scenario ${key} has no table ${table}.`);
  }

  async verifiers(key: string, task: number, signal: AbortSignal): Promise<TaskVerifier[]> {
    return awmVerifiers(
      await this.read('codeVerifier', key, signal, task),
      await this.read('sqlVerifier', key, signal, task),
    );
  }

  async part(name: string, key: string, task: number, signal: AbortSignal): Promise<string | undefined> {
    const part = AWM_PARTS.find((each) => each === name);
    if (part === undefined) return undefined;
    const row = await this.read(part, key, signal, isVerifier(part) ? task : undefined);
    if (row === undefined) return undefined;
    if ('full_code' in row) return row.full_code;
    return 'verification' in row ? row.verification.code : JSON.stringify(row, null, 2);
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
    const found = await this.row(name, key, signal, task);
    if (found === undefined) return undefined;
    const { line, text } = found;
    const row = parseRow(name, text);
    if ('row' in row) return row.row;
    throw new StudioError('config', problemText({ file: AWM_FILES[name], line, message: row.problem }), {
      hint: 'Download the file again, or remove this line.',
    });
  }

  /** Reads the text of a row, as `read` finds it. `file`: the Python file that replaces its code, if there is one. */
  async row(
    name: AwmPart,
    key: string,
    signal: AbortSignal,
    task?: number,
  ): Promise<{ readonly line: number; readonly text: string; readonly file?: string } | undefined> {
    const indexed = await this.#part(name, signal);
    const line = indexed?.index.get(keyText(key, task));
    if (indexed === undefined || line === undefined) return undefined;
    const text = await readLine(indexed.handle, line);
    if (name !== 'code' && !isVerifier(name)) return { line: line.number, text };
    const part = name as LoosePart;
    const loose = await this.#loose(part, key, task);
    if (loose === undefined) return { line: line.number, text };
    return { line: line.number, text: withCode(text, loose), file: looseFile(part, key, task) };
  }

  /** Returns the line of a part of a scenario; undefined if the files have none. */
  async line(name: AwmPart, key: string, signal: AbortSignal): Promise<number | undefined> {
    return (await this.#part(name, signal))?.index.get(keyText(key, undefined))?.number;
  }

  async close(): Promise<void> {
    for (const part of this.#parts.values()) await (await part.catch(() => undefined))?.handle.close();
    this.#parts.clear();
  }

  /** Returns the text of a Python file that replaces the code of a part. */
  async #loose(part: LoosePart, key: string, task: number | undefined): Promise<string | undefined> {
    const file = looseFile(part, key, task);
    return existsSync(path.join(this.folder, file)) ? await diskFiles(this.folder).readText(file) : undefined;
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
    if (!this.has(name)) return undefined;
    const { handle } = await openRegular(path.join(this.folder, AWM_FILES[name]));
    try {
      return { handle, index: await indexRows(handle, name, this.problems, signal) };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Returns what judges each task. */
  async #verifierKinds(key: string, signal: AbortSignal): Promise<string[][]> {
    const byCode = await this.#verified('codeVerifier', signal);
    const bySql = await this.#verified('sqlVerifier', signal);
    const tasks = this.scenarios.find((scenario) => scenario.key === key)?.tasks ?? [];
    return tasks.map((_, task) => [...(byCode(key, task) ? ['code'] : []), ...(bySql(key, task) ? ['SQL'] : [])]);
  }

  /** Returns whether the tasks of a scenario have this verifier. */
  async #verified(name: AwmPart, signal: AbortSignal): Promise<(key: string, task: number) => boolean> {
    const index = (await this.#part(name, signal))?.index;
    return (key, task) => index?.has(keyText(key, task)) === true;
  }

  #searchNames(signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
    this.#names ??= this.#readNames(signal).catch((error: unknown) => {
      this.#names = undefined;
      throw error;
    });
    return this.#names;
  }

  async #readNames(signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
    const names = new Map<string, string[]>();
    const add = (key: string, more: readonly string[]): void => {
      names.set(key, [...(names.get(key) ?? []), ...more]);
    };
    const problems: FileProblem[] = []; // those of the rows are found when they are indexed
    await eachRow(this.folder, 'schema', problems, signal, (key, { db_schema }) =>
      add(
        key,
        db_schema.tables.map(({ name }) => name),
      ),
    );
    await eachRow(this.folder, 'spec', problems, signal, (key, { api_spec }) =>
      add(
        key,
        api_spec.api_groups.flatMap(({ endpoints }) => endpoints.map(({ operation_id }) => operation_id)),
      ),
    );
    return names;
  }
}

/** Returns a row with other code, as JSON. */
function withCode(text: string, code: string): string {
  const row = parseJson(text);
  if ('problem' in row || !isJsonObject(row.value)) return text;
  const { verification } = row.value;
  return JSON.stringify(
    isJsonObject(verification)
      ? { ...row.value, verification: { ...verification, code } }
      : { ...row.value, full_code: code },
  );
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
        ...key,
        isDuplicate: true,
      });
  };
  await visitLines(
    handle,
    EDGE,
    (line, { start, end }) => {
      const key = keyAtStart(start.toString('utf8'), part);
      if (!/\}\s*$/.test(end.toString('latin1'))) {
        const hint = 'Download the file again.';
        problems.push({ file, line: line.number, message: 'the row is cut off', hint, ...key });
        return;
      }
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
  const { handle } = await openRegular(file);
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

/** Parses the text of a row. */
export function parseRow<Name extends AwmPart>(
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

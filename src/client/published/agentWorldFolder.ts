/** Reads the published files of Agent-World. */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { errorText, StudioError } from '../../common/errors.ts';
import type { Json } from '../../common/json.ts';
import {
  AGENT_WORLD_FOLDERS,
  type AgentWorldCheckpoint,
  type AgentWorldQuestions,
  agentWorldCheckpoint,
  agentWorldQuestions,
  CHECKPOINT_END,
} from '../../formats/agentWorld.ts';
import type { TableRows, TaskVerifier, WorldTable } from '../../protocol/worldPage.ts';
import { diskFiles } from '../disk.ts';
import { agentWorldTools, agentWorldVerifiers, collectionRows, collectionTable, nameOf } from './agentWorldModel.ts';
import { type FileProblem, problemText } from './problems.ts';
import {
  type PublishedWorlds,
  type ScenarioDetails,
  type ScenarioModel,
  type ScenarioSummary,
  scenariosWith,
} from './worlds.ts';

const PARTS = ['code', 'answer', 'rubric'] as const;
const AT_ONCE = 8;
/** Between the functions of a scenario, where its code is shown. */
export const BETWEEN_TOOLS = '\n\n\n';

interface Environment {
  readonly summary: ScenarioSummary;
  /** Relative to the folder. */
  readonly checkpoint: string;
  readonly toolNames: readonly string[];
  readonly collections: readonly string[];
  readonly questions: AgentWorldQuestions | undefined;
}

interface AgentWorldScenario {
  /** Its functions, then `TOOL_SCHEMAS`, a list of their names, descriptions, and parameters. */
  readonly code: string;
  /** By file name. */
  readonly collections: Readonly<Record<string, unknown>>;
  /** Relative to the folder. */
  readonly checkpoint: string;
  /** Criteria of each task. */
  readonly rubrics: readonly (readonly string[] | undefined)[];
}

export class AgentWorldFolder implements PublishedWorlds {
  readonly format = 'Agent-World';
  readonly folder: string;
  readonly parts = PARTS;
  readonly problems: FileProblem[];
  readonly scenarios: readonly ScenarioSummary[];
  readonly #environments: ReadonlyMap<string, Environment>;

  private constructor(folder: string, environments: readonly Environment[], problems: FileProblem[]) {
    this.folder = folder;
    this.problems = problems;
    this.scenarios = environments.map(({ summary }) => summary);
    this.#environments = new Map(environments.map((environment) => [environment.summary.key, environment]));
  }

  /** Whether a folder has such files. */
  static isIn(folder: string): boolean {
    return existsSync(path.join(folder, AGENT_WORLD_FOLDERS.environments));
  }

  /** Reads the checkpoints and the questions. Throws StudioError `config` if there are none. */
  static async open(folder: string, signal: AbortSignal): Promise<AgentWorldFolder> {
    const problems: FileProblem[] = [];
    const entries = await readdir(path.join(folder, AGENT_WORLD_FOLDERS.environments), { withFileTypes: true });
    const ids = entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .sort();
    const environments: Environment[] = [];
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      signal.throwIfAborted();
      const read = await Promise.all(
        ids.slice(from, from + AT_ONCE).map((id) => readEnvironment(folder, id, problems)),
      );
      environments.push(...read.filter((each) => each !== undefined));
    }
    if (environments.length > 0) return new AgentWorldFolder(folder, environments, problems);
    throw new StudioError('config', `${path.join(folder, AGENT_WORLD_FOLDERS.environments)} has no environments.`, {
      hint: problems[0] === undefined ? 'Name the folder with the published files.' : problemText(problems[0]),
    });
  }

  search(words: string): Promise<ScenarioSummary[]> {
    return Promise.resolve(
      scenariosWith(words, this.scenarios, (key) => {
        const { toolNames = [], collections = [] } = this.#environments.get(key) ?? {};
        return [...toolNames, ...collections];
      }),
    );
  }

  async details(key: string, signal: AbortSignal): Promise<ScenarioDetails> {
    const { checkpoint, collections, questions } = this.#environment(key);
    const { data } = await this.#checkpoint(checkpoint);
    const tables: { name: string; rows: number }[] = [];
    for (const name of collections) {
      signal.throwIfAborted();
      tables.push({ name, rows: (await this.#records(key, name)).length });
    }
    const tools = data.ToolDesignAgent.tool_schemas;
    return {
      tables,
      tools: tools.map(({ name, description }) => ({ name, summary: description })),
      codeLines: tools.reduce((lines, { implementation }) => lines + implementation.split('\n').length, 0),
      verifiers: questions?.tasks.map(({ grading_rubric }) => (grading_rubric === undefined ? [] : ['rubric'])) ?? [],
    };
  }

  async model(key: string, signal: AbortSignal): Promise<ScenarioModel> {
    const { checkpoint, collections, questions } = this.#environment(key);
    const code = (await this.part('code', key, 0)) ?? '';
    const tables: WorldTable[] = [];
    for (const file of collections) {
      signal.throwIfAborted();
      tables.push(collectionTable(file, await this.#records(key, file)));
    }
    return {
      tables,
      tools: agentWorldTools(await this.#checkpoint(checkpoint), code),
      codeLines: code === '' ? 0 : code.split('\n').length,
      verifiers:
        questions?.tasks.map((task) =>
          agentWorldVerifiers(task).flatMap(({ kind }) => (kind === 'answer' ? [] : [kind])),
        ) ?? [],
    };
  }

  async rows(key: string, table: string): Promise<TableRows> {
    const file = this.#environment(key).collections.find((each) => nameOf(each) === table);
    if (file !== undefined) return collectionRows(file, await this.#records(key, file));
    throw new StudioError('not_found', `The environment ${key} has no collection ${table}.`);
  }

  verifiers(key: string, task: number): Promise<TaskVerifier[]> {
    return Promise.resolve(agentWorldVerifiers(this.#environment(key).questions?.tasks[task]));
  }

  async part(name: string, key: string, task: number): Promise<string | undefined> {
    const { checkpoint, questions } = this.#environment(key);
    const question = questions?.tasks[task];
    switch (name) {
      case 'code': {
        return functionsOf(await this.#checkpoint(checkpoint));
      }
      case 'answer': {
        const answer = question?.reference_answer;
        return typeof answer === 'string' ? answer : answer === undefined ? undefined : JSON.stringify(answer, null, 2);
      }
      case 'rubric':
        return question?.grading_rubric?.success_criteria.map((criterion) => `- ${criterion}`).join('\n');
      default:
        return undefined;
    }
  }

  /** Returns the paths of the files of a scenario, relative to the folder. */
  files(key: string): {
    readonly checkpoint: string;
    readonly questions: string;
    readonly collections: readonly string[];
  } {
    const { checkpoint, collections } = this.#environment(key);
    return {
      checkpoint,
      questions: path.join(AGENT_WORLD_FOLDERS.questions, `${key}.json`),
      collections: collections.map((name) => path.join(AGENT_WORLD_FOLDERS.environments, key, name)),
    };
  }

  /** Reads all that a session needs. Throws StudioError `config`, with the file, if it cannot. */
  async scenario(key: string): Promise<AgentWorldScenario> {
    const { checkpoint, collections, questions } = this.#environment(key);
    const read = await this.#checkpoint(checkpoint);
    const schemas = read.data.ToolDesignAgent.tool_schemas.map(({ name, description, parameters = {} }) => ({
      name,
      description,
      parameters,
    }));
    const contents: Record<string, unknown> = {};
    for (const name of collections) {
      const file = path.join(AGENT_WORLD_FOLDERS.environments, key, name);
      const collection = await readJson(this.folder, file, z.unknown());
      if ('problem' in collection)
        throw new StudioError('config', `${problemText(collection.problem)}.`, { hint: 'Download the file again.' });
      contents[name] = collection.value;
    }
    return {
      code: [
        functionsOf(read),
        'import json as _json',
        `TOOL_SCHEMAS = _json.loads(${pythonText(JSON.stringify(schemas))})\n`,
      ].join(BETWEEN_TOOLS),
      collections: contents,
      checkpoint,
      rubrics: questions?.tasks.map(({ grading_rubric }) => grading_rubric?.success_criteria) ?? [],
    };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #environment(key: string): Environment {
    const found = this.#environments.get(key);
    if (found !== undefined) return found;
    throw new StudioError('not_found', `There is no scenario ${key} in ${this.folder}.`);
  }

  async #checkpoint(file: string): Promise<AgentWorldCheckpoint> {
    const read = await readJson(this.folder, file, agentWorldCheckpoint);
    if ('value' in read) return read.value;
    throw new StudioError('config', problemText(read.problem), { hint: 'Download the file again.' });
  }

  /** Returns the records of a collection; none for a file that is no collection. */
  async #records(key: string, name: string): Promise<readonly Json[]> {
    const file = path.join(AGENT_WORLD_FOLDERS.environments, key, name);
    try {
      const parsed: unknown = JSON.parse(await diskFiles(this.folder).readText(file));
      if (Array.isArray(parsed)) return parsed as Json[];
      this.#report({ file, message: 'not a JSON array of records' });
    } catch (error) {
      this.#report({ file, message: errorText(error) });
    }
    return [];
  }

  #report(problem: FileProblem): void {
    if (!this.problems.some(({ file }) => file === problem.file)) this.problems.push(problem);
  }
}

function functionsOf({ data }: AgentWorldCheckpoint): string {
  return data.ToolDesignAgent.tool_schemas.map(({ implementation }) => implementation.trim()).join(BETWEEN_TOOLS);
}

/** JSON's texts are texts of Python. */
function pythonText(text: string): string {
  return JSON.stringify(text);
}

async function readEnvironment(folder: string, id: string, problems: FileProblem[]): Promise<Environment | undefined> {
  const { environments, questions: questionsFolder } = AGENT_WORLD_FOLDERS;
  const name = `${id}${CHECKPOINT_END}`;
  const places = [path.join(environments, name), path.join(environments, id, name)];
  const checkpoint = places.find((file) => existsSync(path.join(folder, file)));
  if (checkpoint === undefined) {
    problems.push({ file: path.join(environments, name), message: `there is no checkpoint for environment ${id}` });
    return undefined;
  }
  const read = await readJson(folder, checkpoint, agentWorldCheckpoint);
  if ('problem' in read) {
    problems.push(read.problem);
    return undefined;
  }
  const asked = path.join(questionsFolder, `${id}.json`);
  const questions = existsSync(path.join(folder, asked))
    ? await readJson(folder, asked, agentWorldQuestions)
    : undefined;
  if (questions !== undefined && 'problem' in questions) problems.push(questions.problem);
  const found = questions !== undefined && 'value' in questions ? questions.value : undefined;
  const { data, metadata } = read.value;
  const files = await readdir(path.join(folder, environments, id));
  return {
    summary: {
      key: id,
      name: metadata.name ?? found?.name ?? id,
      description: metadata.description,
      tasks: found?.tasks.map(({ task }) => task) ?? [],
    },
    checkpoint,
    toolNames: data.ToolDesignAgent.tool_schemas.map((tool) => tool.name),
    collections: files.filter((file) => file.endsWith('.json') && !file.endsWith(CHECKPOINT_END)).sort(),
    questions: found,
  };
}

async function readJson<T>(
  folder: string,
  file: string,
  schema: z.ZodType<T>,
): Promise<{ readonly value: T } | { readonly problem: FileProblem }> {
  try {
    const result = schema.safeParse(JSON.parse(await diskFiles(folder).readText(file)));
    if (result.success) return { value: result.data };
    const [issue] = result.error.issues;
    return { problem: { file, message: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'another format'}` } };
  } catch (error) {
    return { problem: { file, message: errorText(error) } };
  }
}

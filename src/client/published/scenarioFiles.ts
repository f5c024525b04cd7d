/** Reads scenarios of published worlds as they are sent: code, initial state, and verifiers. */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { oneLine, plural } from '../../common/text.ts';
import { recordProblem } from '../../config/dataset/dataset.ts';
import type { Scenarios } from '../../config/load/scenarios.ts';
import type { Problem } from '../../config/source/problem.ts';
import type { ScenarioVerifiers, SubmittedScenario } from '../../config/submission/world.ts';
import type { SubmissionBlob } from '../../config/submit/blobs.ts';
import type { ScenarioFiles } from '../../config/submit/scenarios.ts';
import { verifierOf } from '../../formats/awm.ts';
import { AWM_FILES } from '../../formats/awmFiles.ts';
import { AgentWorldFolder } from './agentWorldFolder.ts';
import { AwmFolder } from './awmFolder.ts';
import { ContentCache } from './cache.ts';
import { problemText } from './problems.ts';
import { type TemplateStatement, templateResult } from './template/build.ts';
import { TemplateBuilder } from './template/builder.ts';

/** Statements that are reported for each scenario. */
const MAX_PROBLEMS = 20;
const MAX_STATEMENT = 80;

/** A built template in the cache. A new version builds all templates again. */
const VERSION = 1;
const remembered = templateResult.extend({ sha: z.string() });
type Template = z.infer<typeof remembered> & { readonly path: string };

/** A scenario before its parts are in the cache. */
interface Parts {
  readonly code: string;
  readonly place: SubmittedScenario['place'];
  readonly verifiers: ScenarioVerifiers;
}

/**
 * Reads scenarios. `now`: the time at which templates are built. Throws StudioError `config`, with file and line, for a
 * scenario that cannot run.
 */
export async function readScenarioFiles(
  { format, folder }: Scenarios,
  names: readonly string[],
  now: string,
  cacheFolder: string,
  signal: AbortSignal,
): Promise<Map<string, ScenarioFiles>> {
  const worlds = await (format === 'awm' ? AwmFolder : AgentWorldFolder).open(folder, signal);
  const reader = await ScenarioReader.open(worlds, now, cacheFolder, signal);
  try {
    const read = new Map<string, ScenarioFiles>();
    for (const name of names) read.set(name, await reader.read(name));
    return read;
  } finally {
    reader.close();
    await worlds.close();
  }
}

/** Reads scenarios of an open folder, one by one. */
export class ScenarioReader {
  readonly #worlds: AwmFolder | AgentWorldFolder;
  readonly #now: string;
  readonly #tools: AwmTools;

  private constructor(worlds: AwmFolder | AgentWorldFolder, now: string, tools: AwmTools) {
    this.#worlds = worlds;
    this.#now = now;
    this.#tools = tools;
  }

  static async open(
    worlds: AwmFolder | AgentWorldFolder,
    now: string,
    cacheFolder: string,
    signal: AbortSignal,
  ): Promise<ScenarioReader> {
    const cache = await ContentCache.open(cacheFolder);
    return new ScenarioReader(worlds, now, { cache, builder: new TemplateBuilder(), signal });
  }

  /** Throws StudioError `config`, with file and line, for a scenario that cannot run. */
  async read(name: string): Promise<ScenarioFiles> {
    return this.#worlds instanceof AwmFolder
      ? await awmFiles(this.#worlds, name, this.#now, this.#tools)
      : await agentWorldFiles(this.#worlds, name, this.#tools.cache);
  }

  close(): void {
    this.#tools.builder.close();
  }
}

interface AwmTools {
  readonly cache: ContentCache;
  readonly builder: TemplateBuilder;
  readonly signal: AbortSignal;
}

async function awmFiles(worlds: AwmFolder, name: string, now: string, tools: AwmTools): Promise<ScenarioFiles> {
  const { cache, signal } = tools;
  const place = async (part: 'code' | 'schema' | 'rows'): Promise<SubmittedScenario['place']> => {
    const line = await worlds.line(part, name, signal);
    const file = path.join(worlds.folder, AWM_FILES[part]);
    if (line !== undefined) return { file, line };
    // Its row may be one that cannot be read.
    const unread = worlds.problems.find((problem) => problem.file === AWM_FILES[part] && problem.isDuplicate !== true);
    const why = unread === undefined ? '' : ` ${problemText(unread)}.`;
    throw new StudioError('config', `${file} has no scenario ${name}.${why}`, {
      hint: 'Download the file again, or choose another scenario.',
    });
  };
  const code = await worlds.read('code', name, signal);
  const edited = (await worlds.row('code', name, signal))?.file;
  const schema = await worlds.read('schema', name, signal);
  const rows = await worlds.read('rows', name, signal);
  const statements: TemplateStatement[] = [
    ...(schema?.db_schema.tables ?? []).flatMap(({ name: table, ddl, indexes }) =>
      [ddl, ...indexes].map((sql) => ({ phase: 'schema' as const, table, sql })),
    ),
    ...(rows?.sample_data.tables ?? []).flatMap(({ table_name: table, insert_statements }) =>
      insert_statements.map((sql) => ({ phase: 'rows' as const, table, sql })),
    ),
  ];
  const places = { code: await place('code'), schema: await place('schema'), rows: await place('rows') };
  const template = await builtTemplate(statements, now, tools).catch((error: unknown) => {
    if (!StudioError.is(error, 'config')) throw error;
    throw templateFailure(name, places.schema, error.message);
  });
  if (template.tables === 0)
    throw templateFailure(name, places.schema, template.errors[0]?.message ?? 'it has no tables');
  return {
    ...(await sent(cache, {
      code: code?.full_code ?? '',
      place: edited === undefined ? places.code : { file: path.join(worlds.folder, edited), line: 1 },
      verifiers: await awmVerifiers(worlds, name, signal),
    })),
    template: { sha: template.sha, path: template.path, media: 'application/vnd.sqlite3' },
    problems: template.errors
      .slice(0, MAX_PROBLEMS)
      .map((error, index) => statementProblem(name, places[error.phase], error, template.errors.length, index)),
  };
}

function templateFailure(name: string, { file, line }: SubmittedScenario['place'], why: string): StudioError {
  return new StudioError('config', `${file}:${line}: cannot build the database of scenario ${name}: ${why}.`, {
    hint: 'Fix the row, or choose another scenario.',
  });
}

function statementProblem(
  scenario: string,
  { file, line }: SubmittedScenario['place'],
  { table, sql, message }: Template['errors'][number],
  count: number,
  index: number,
): Problem {
  const more =
    index + 1 === MAX_PROBLEMS && count > MAX_PROBLEMS
      ? ` (and ${plural(count - MAX_PROBLEMS, 'more statement')})`
      : '';
  return {
    ...recordProblem(
      file,
      { line, column: 1 },
      {
        message:
          `scenario \`${scenario}\`, table \`${table}\`: a statement fails: ${message}: ` +
          `${oneLine(sql, MAX_STATEMENT)}${more}`,
        hint: 'The world runs without it. Fix the statement, or choose another scenario.',
      },
    ),
    severity: 'warning',
  };
}

/** Builds the database of a scenario, unless it was built before. */
async function builtTemplate(
  statements: readonly TemplateStatement[],
  now: string,
  { cache, builder, signal }: AwmTools,
): Promise<Template> {
  const key = createHash('sha256')
    .update(JSON.stringify([VERSION, now, statements]))
    .digest('hex');
  const name = `${key}.json`;
  const known = await cache.recall(name);
  if (known !== undefined) {
    const template = remembered.parse(JSON.parse(known));
    const file = await cache.find(template.sha);
    if (file !== undefined) return { ...template, path: file };
  }
  const temporary = cache.temporary();
  try {
    const result = await builder.build({ file: temporary, now, statements: [...statements] }, signal);
    const built = await cache.adopt(temporary);
    await cache.remember(name, JSON.stringify({ ...result, sha: built.sha }));
    return { ...result, ...built };
  } finally {
    for (const end of ['', '-journal']) await rm(`${temporary}${end}`, { force: true });
  }
}

/** Reads the verifiers of a scenario. Throws StudioError `config`, with file and line, if a row cannot be read. */
export async function readVerifiers(
  worlds: AwmFolder | AgentWorldFolder,
  name: string,
  signal: AbortSignal,
): Promise<ScenarioVerifiers> {
  return worlds instanceof AwmFolder
    ? await awmVerifiers(worlds, name, signal)
    : rubricVerifiers(await worlds.scenario(name));
}

async function awmVerifiers(worlds: AwmFolder, name: string, signal: AbortSignal): Promise<ScenarioVerifiers> {
  const { tasks = [] } = worlds.scenarios.find(({ key }) => key === name) ?? {};
  const verifiers: ScenarioVerifiers = {};
  for (const index of tasks.keys()) {
    const code = await worlds.read('codeVerifier', name, signal, index);
    const sql = await worlds.read('sqlVerifier', name, signal, index);
    if (code === undefined && sql === undefined) continue;
    verifiers[String(index)] = {
      ...(code === undefined ? {} : { code: verifierOf(code) }),
      ...(sql === undefined ? {} : { sql: verifierOf(sql) }),
    };
  }
  return verifiers;
}

async function agentWorldFiles(worlds: AgentWorldFolder, name: string, cache: ContentCache): Promise<ScenarioFiles> {
  const scenario = await worlds.scenario(name);
  const { code, collections, checkpoint } = scenario;
  const verifiers = rubricVerifiers(scenario);
  const template = await cache.add(Buffer.from(JSON.stringify(collections)));
  return {
    ...(await sent(cache, { code, place: { file: path.join(worlds.folder, checkpoint), line: 1 }, verifiers })),
    template: { ...template, media: 'application/json' },
    problems: [],
  };
}

function rubricVerifiers({
  rubrics,
}: Pick<Awaited<ReturnType<AgentWorldFolder['scenario']>>, 'rubrics'>): ScenarioVerifiers {
  return Object.fromEntries(rubrics.flatMap((rubric, at) => (rubric === undefined ? [] : [[String(at), { rubric }]])));
}

async function sent(
  cache: ContentCache,
  { code, place, verifiers }: Parts,
): Promise<Pick<ScenarioFiles, 'code' | 'verifiers' | 'place'>> {
  const add = async (text: string, media: string): Promise<SubmissionBlob> => ({
    ...(await cache.add(Buffer.from(text))),
    media,
  });
  return {
    code: await add(code, 'text/x-python'),
    verifiers: await add(JSON.stringify(verifiers), 'application/json'),
    place,
  };
}

/** Collects what a World page shows, from files alone. */
import * as vscode from 'vscode';
import { problemText } from '../../../client/published/problems.ts';
import { type PublishedWorlds, type ScenarioSummary, scenarioNamed } from '../../../client/published/worlds.ts';
import { errorText, StudioError } from '../../../common/errors.ts';
import { moduleTools, type ReadText } from '../../../config/tools/toolModules.ts';
import type { WorldDetails } from '../../../protocol/worldPage.ts';
import { folderOf, uriOf, workspaceFiles } from '../../files/workspaceFiles.ts';
import { passRateText } from '../../views/batches/batchNodes.ts';
import type { WorkspaceWorld, WorkspaceWorlds } from '../workspaceWorlds.ts';

/** Problems of files that are shown. */
const MAX_PROBLEMS = 20;

/** The scenario of a page, with the folder that it is from. */
export interface OpenScenario {
  readonly published: PublishedWorlds;
  readonly scenario: ScenarioSummary;
}

/** Returns the scenario of a page; undefined for a world without published scenarios. */
export async function scenarioOf(
  worlds: WorkspaceWorlds,
  world: WorkspaceWorld,
  key: string | undefined,
): Promise<OpenScenario | undefined> {
  if (world.ref.from === undefined) return undefined;
  const published = await worlds.published(world);
  const name = key ?? world.ref.scenario ?? published.scenarios[0]?.key;
  if (name === undefined) throw new StudioError('not_found', `There are no scenarios in ${published.folder}.`);
  return { published, scenario: scenarioNamed(published, name) };
}

export async function worldDetails(
  worlds: WorkspaceWorlds,
  world: WorkspaceWorld,
  open: OpenScenario | undefined,
  signal: AbortSignal,
): Promise<WorldDetails> {
  const { ref, uri } = world;
  const last = await worlds.lastBatch(ref);
  const shared = {
    world: ref.name,
    file: vscode.workspace.asRelativePath(uri),
    ...(last === undefined ? {} : { last: { batch: last.batch, name: last.name, text: passRateText(last) } }),
  };
  if (open === undefined) return { ...shared, ...(await moduleDetails(worlds, world)) };
  const { published, scenario } = open;
  const model = await published.model(scenario.key, signal);
  return {
    ...shared,
    title: scenario.name,
    kind: 'code',
    format: published.format,
    scenario: scenario.key,
    description: scenario.description,
    tasks: scenario.tasks.map((text, index) => ({
      ...{ id: String(index), task: `${scenario.key}-${index}`, text, verifiers: [...(model.verifiers[index] ?? [])] },
      ...(ref.setAside?.includes(`${scenario.key}-${index}`) === true ? { isSetAside: true } : {}),
    })),
    tables: [...model.tables],
    tools: [...model.tools],
    code: { file: `${scenario.key}.py`, lines: model.codeLines },
    problems: published.problems.slice(0, MAX_PROBLEMS).map(problemText),
    canExtract: model.codeLines > 0,
  };
}

type ModuleDetails = Omit<WorldDetails, 'world' | 'file' | 'last'>;

async function moduleDetails(worlds: WorkspaceWorlds, { uri, ref }: WorkspaceWorld): Promise<ModuleDetails> {
  const files = workspaceFiles(folderOf(uri));
  const problems = ref.problem === undefined ? [] : [ref.problem];
  const readText: ReadText = async (path) => {
    try {
      return await files.readText(path);
    } catch (error) {
      if (StudioError.is(error)) return undefined;
      throw error;
    }
  };
  const text = ref.module === undefined ? undefined : await readText(ref.module);
  if (ref.module !== undefined && text === undefined) problems.push(`The module ${ref.module} does not exist.`);
  const tools = ref.module === undefined ? [] : ((await moduleTools(ref.module, 'reached', readText)) ?? []);
  const tasks = await worlds.batchTasks(ref).catch((error: unknown) => {
    problems.push(errorText(error));
    return [];
  });
  const verifiers = text !== undefined && /\bverify\b/.test(text) ? ['verify'] : [];
  return {
    title: ref.name,
    kind: ref.kind === 'module' ? 'module' : 'other',
    description: '',
    tasks: tasks.map((task) => ({ ...task, verifiers })),
    tables: [],
    tools: tools.map(({ name, description = '', line, path }) => ({
      ...{ name, summary: description, description, line, file: path },
    })),
    code: {
      file: ref.module === undefined ? '' : vscode.workspace.asRelativePath(uriOf(uri, ref.module)),
      lines: text === undefined ? 0 : text.split('\n').length,
    },
    problems,
    canExtract: false,
    ...(ref.kind === 'module' && uri.scheme === 'file'
      ? {}
      : { cannotDrive: 'Only TypeScript worlds and published worlds on disk can be driven.' }),
  };
}

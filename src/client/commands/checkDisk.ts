/** Checks files on disk: their contents, and that the modules they reference build and load. */
import { StudioError } from '../../common/errors.ts';
import { checkFiles, configFilesUnder } from '../../config/checkFiles.ts';
import type { Files } from '../../config/files.ts';
import type { LoadedAgent } from '../../config/load/agent.ts';
import { codeWorldIn, type LoadedCodeWorld, type LoadedWorld, worldsIn } from '../../config/load/world.ts';
import type { LoadedBatch } from '../../config/load.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import type { ParsedFile } from '../../config/source/parse.ts';
import { type Problem, sortProblems } from '../../config/source/problem.ts';
import { visibleValues } from '../../config/submit/environment.ts';
import { scenariosOf } from '../../config/submit/scenarios.ts';
import { filesOf } from '../../config/submit/sections.ts';
import type { Bundle, BundleProblem } from '../../tools/bundle.ts';
import { requireWithin } from '../confined.ts';
import { ownScenario, worldProblems } from '../published/lintWorlds.ts';
import { factsFindings } from '../simulation/facts/check.ts';
import { bundleWithin, filesAt } from '../submitFile.ts';
import { workspaceRoot } from '../workspace.ts';
import { type LoadedFile, loadFiles } from './loadedFiles.ts';

const NEVER = new AbortController().signal;

interface CheckedFiles {
  /** The requested files, or all files found in the folder. */
  readonly paths: readonly string[];
  readonly problems: readonly Problem[];
}

/** What a module must export: tools, or one function by its name (a world's `open`, a scorer's). */
export type ModuleUse = { readonly kind: 'tools' } | { readonly kind: 'export'; readonly name: string };

/** A module that was built, with all its uses. */
export interface BuiltModule {
  readonly bundle: Bundle;
  readonly uses: readonly ModuleUse[];
}

/**
 * Loads modules as a worker does; they can read the folder `root`. Returns the failures: StudioErrors `config`, each
 * with `details.problems`.
 */
export type LoadModules = (modules: readonly BuiltModule[], root: string) => Promise<readonly StudioError[]>;

/**
 * Checks the requested files (relative to `folder`), or if there are none, all agent, world, and batch files in
 * `folder`. `env`: the environment in which batches would be launched. `within`: folder that all files must be in.
 * Throws StudioError `usage` if it contains none.
 */
export async function checkDisk(
  folder: string,
  requested: readonly string[],
  loadModules: LoadModules,
  env: Readonly<Record<string, string | undefined>>,
  within?: string,
): Promise<CheckedFiles> {
  const files = filesAt({ cwd: folder, within });
  const paths = requested.length > 0 ? requested : await configFilesUnder(files, folder);
  if (paths.length === 0)
    throw new StudioError('usage', 'This folder contains no agent, world, or batch files.', {
      hint: 'Create a sample workspace with rollout init.',
    });
  const loaded = await loadFiles(files, paths);
  const problems = [
    ...(await checkFiles(files, paths)),
    ...(await moduleProblems(files, { folder, within }, modulesOf(loaded), loadModules)),
    ...(await scenarioProblems(files, loaded, env, within)),
    ...(await factsFindings(files, loaded, folder, NEVER)),
    ...visibleValues(loaded.flatMap(parsedFiles), (name) => env[name]),
  ];
  return { paths, problems: sortProblems(problems) };
}

/** Lints the scenarios of code worlds: those that tasks of batches name, and those that world files name. */
async function scenarioProblems(
  files: Files,
  loaded: readonly LoadedFile[],
  env: Readonly<Record<string, string | undefined>>,
  within: string | undefined,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const { world: outer, batch } of loaded) {
    const world = codeWorldIn(outer);
    if (world === undefined) continue;
    if (within !== undefined) await requireWithin(within, world.scenarios.folder);
    const own = ownScenario(world);
    const names = batch !== undefined ? await namedScenarios(batch, world, files) : own === undefined ? [] : [own];
    problems.push(...(await worldProblems(world, names, env, NEVER)));
  }
  return problems;
}

/** Returns nothing for a dataset with errors, which its check reports. */
async function namedScenarios(batch: LoadedBatch, world: LoadedCodeWorld, files: Files): Promise<string[]> {
  try {
    return await scenariosOf(batch, world, files);
  } catch (error) {
    if (StudioError.is(error, 'config')) return [];
    throw error;
  }
}

/** Collects the modules that files reference, and how they use them. */
class ModuleUses {
  readonly byPath = new Map<string, ModuleUse[]>();

  addAgent({ path, file, team }: LoadedAgent): void {
    for (const { module } of file.tools) if (module !== undefined) this.add(path, module, { kind: 'tools' });
    for (const member of team?.members ?? []) this.addAgent(member.agent);
  }

  addWorld(outer: LoadedWorld): void {
    for (const world of worldsIn(outer)) this.#addOne(world);
  }

  #addOne(world: LoadedWorld): void {
    if (world.kind === 'module') this.add(world.path, world.file.module, { kind: 'export', name: 'open' });
    for (const tools of world.kind === 'simulated' ? world.simulation.tools : [])
      if ('entry' in tools && tools.entry.module !== undefined)
        this.add(world.path, tools.entry.module, { kind: 'tools' });
    for (const { module } of world.file.real?.tools ?? [])
      if (module !== undefined) this.add(world.path, module, { kind: 'tools' });
    for (const { module, export: name } of world.file.perturb)
      if (module !== undefined && name !== undefined) this.add(world.path, module, { kind: 'export', name });
  }

  /** @param module Path relative to the file that references it. */
  add(file: string, module: string, use: ModuleUse): void {
    const path = joinPath(dirname(file), module);
    const uses = this.byPath.get(path) ?? [];
    if (!uses.some((other) => JSON.stringify(other) === JSON.stringify(use))) uses.push(use);
    this.byPath.set(path, uses);
  }
}

function modulesOf(loaded: readonly LoadedFile[]): ModuleUses {
  const uses = new ModuleUses();
  for (const { agent, world, batch } of loaded) {
    if (agent !== undefined) uses.addAgent(agent);
    if (world !== undefined) uses.addWorld(world);
    const scorer = batch?.file.scorer;
    if (batch !== undefined && scorer?.kind === 'module')
      uses.add(batch.path, scorer.module, { kind: 'export', name: scorer.export });
  }
  return uses;
}

function parsedFiles({ agent, world, batch }: LoadedFile): ParsedFile[] {
  return [
    agent === undefined ? [] : filesOf(agent),
    worldsIn(world).map(({ parsed }) => parsed),
    batch?.parsed ?? [],
  ].flat();
}

/** Builds and loads every module once and returns the failures as problems. */
async function moduleProblems(
  files: Files,
  { folder, within }: { readonly folder: string; readonly within: string | undefined },
  modules: ModuleUses,
  loadModules: LoadModules,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const byRoot = new Map<string, BuiltModule[]>();
  for (const [module, uses] of modules.byPath) {
    const root = workspaceRoot(module, folder);
    try {
      const built = { bundle: await bundleWithin(module, root, within), uses };
      byRoot.set(root, [...(byRoot.get(root) ?? []), built]);
    } catch (error) {
      if (!StudioError.is(error, 'config')) throw error;
      problems.push(...problemsOf(error, files.absolute(root), 'The module must build before a rollout can use it.'));
    }
  }
  for (const [root, built] of byRoot) {
    for (const error of await loadModules(built, files.absolute(root)))
      problems.push(...problemsOf(error, files.absolute(root), 'The module must load before a rollout can use it.'));
  }
  return problems;
}

/** @param fallbackHint Used if the error has no hint. */
function problemsOf(error: StudioError, root: string, fallbackHint: string): Problem[] {
  const details = error.details?.['problems'];
  const list = Array.isArray(details) ? (details as readonly BundleProblem[]) : []; // set by bundleModule
  return list.map(({ file, line, column, message }) => ({
    file: joinPath(root, file),
    line,
    column,
    endLine: line,
    endColumn: column + 1,
    message,
    hint: error.hint ?? fallbackHint,
    severity: 'error',
    code: 'file',
  }));
}

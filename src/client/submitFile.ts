/** Reads batch files from disk and builds their submissions. */

import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { StudioError } from '../common/errors.ts';
import { PRODUCT } from '../common/product.ts';
import type { ScenarioHealth } from '../common/worldHealth.ts';
import { type Estimate, UsageEstimate } from '../config/estimate.ts';
import type { Files } from '../config/files.ts';
import { codeWorldIn } from '../config/load/world.ts';
import { type LoadedBatch, type LoadOptions, loadBatch } from '../config/load.ts';
import { mostAttempts } from '../config/schema/attemptsSection.ts';
import type { CurriculumSection } from '../config/schema/curriculumSection.ts';
import type { GroupSection } from '../config/schema/groupSection.ts';
import { SANDBOX_MODES, type SandboxMode } from '../config/schema/sandboxSection.ts';
import { hasErrors, type Problem, problemsError } from '../config/source/problem.ts';
import { type Submission, sourcesOf, toolsOf } from '../config/submission.ts';
import { fileTasks } from '../config/submit/fileTasks.ts';
import { scenariosOf } from '../config/submit/scenarios.ts';
import { type BuiltSubmission, buildSubmission, type SubmitPorts } from '../config/submit.ts';
import type { Api } from '../protocol/api.ts';
import { MAX_NOTE } from '../protocol/client.ts';
import { type Bundle, bundleModule } from '../tools/bundle.ts';
import { confinedFiles, requireWithin } from './confined.ts';
import { applyCurriculum, type Curriculum } from './curriculum.ts';
import { diskFiles } from './disk.ts';
import { cacheFolder } from './folders.ts';
import type { Launch } from './launch.ts';
import { pathsNamed } from './namedPaths.ts';
import { worldProblems } from './published/lintWorlds.ts';
import { readScenarioFiles } from './published/scenarioFiles.ts';
import { recordCalls, recordedFile } from './recordings/record.ts';
import { simulationPorts } from './simulation/ports.ts';
import { gitState, workspaceRoot } from './workspace.ts';

interface ReadyBatch {
  readonly built: BuiltSubmission & Pick<Launch, 'notes' | 'curriculum' | 'rates'>;
  /** Problems that do not prevent the batch from running. */
  readonly warnings: readonly Problem[];
  readonly root: string;
  /** The target in the batch file. */
  readonly target: string;
  /** What its groups are if it is opened for a trainer. */
  readonly group: GroupSection | undefined;
  /** Reads all tasks, and returns what the batch will use. Rejects with StudioError `config` for an invalid one. */
  readonly estimate: () => Promise<Estimate>;
}

const NEVER = new AbortController().signal;

/** Where files are read. */
export interface ReadPlace {
  /** Relative paths start here. */
  readonly cwd: string;
  /** Folder that all files must be in, by their real paths. */
  readonly within?: string | undefined;
}

/** Returns the files of a place. */
export function filesAt({ cwd, within }: ReadPlace): Files {
  const files = diskFiles(cwd);
  return within === undefined ? files : confinedFiles(files, within);
}

/** What reading a batch file may use and do besides reading files. */
export interface ReadOptions extends LoadOptions {
  /** Connects to the store that has the recorded attempts which a world names. */
  readonly connect?: (() => Promise<Api>) | undefined;
  /** Whether all tasks are read, whatever the curriculum of the file says. Named tasks are in any case. */
  readonly allTasks?: boolean;
  /**
   * Called before the submission opens or runs anything: servers whose tools a simulated world takes, and the program
   * that prints its state. `planned`: the submission without what they return. Throws if that is not allowed.
   */
  readonly permit?: SubmitPorts['permit'] | undefined;
  readonly signal?: AbortSignal;
}

/** Reads a batch file and all files it references. Throws StudioError `config` with the problems of all files. */
export async function readBatch(
  file: string,
  place: ReadPlace,
  env: NodeJS.ProcessEnv,
  { connect, permit, signal = NEVER, allTasks = false, ...options }: ReadOptions = {},
): Promise<ReadyBatch> {
  const { cwd, within } = place;
  const root = workspaceRoot(file, cwd);
  const files = filesAt(place);
  const sandbox = sandboxMode(env['ROLLOUT_SANDBOX']);
  const loaded = await loadBatch(files, file, { root, ...(sandbox === undefined ? {} : { sandbox }), ...options });
  if (loaded.value === undefined) throw problemsError(loaded.problems, files.absolute(cwd));
  const pure = new Map<string, readonly string[]>();
  const lint = await lintErrors(loaded.value, files, env, within, pure);
  if (hasErrors(lint)) throw problemsError(lint, files.absolute(cwd));
  const built = await buildSubmission(loaded.value, {
    ...submitPorts(files, root, env, within, { pure, connect, signal }),
    permit: async (planned, tasks) => {
      await requireFolders(planned, within);
      await permit?.(planned, tasks);
    },
  });
  const { value } = loaded;
  const section = allTasks || options.tasks !== undefined ? undefined : value.file.curriculum;
  const selected = section === undefined ? undefined : await selectedTasks(section, built, connect, signal);
  const leftOut = leftOutNote(loaded.problems);
  const notes = [...(leftOut === undefined ? [] : [leftOut]), ...(selected === undefined ? [] : [selected.note])];
  return {
    built: {
      ...built,
      ...(selected === undefined ? {} : { tasks: again(selected.tasks), curriculum: selected.curriculum }),
      ...(selected?.rates === undefined ? {} : { rates: selected.rates }),
      ...(notes.length === 0 ? {} : { notes }),
    },
    warnings: [...loaded.problems, ...lint, ...built.warnings],
    root,
    target: value.file.target,
    group: value.file.group,
    estimate: async () => {
      const usage = new UsageEstimate(value);
      const ids = selected === undefined ? undefined : new Set(selected.tasks.map(({ id }) => id));
      for await (const task of fileTasks(value, files)) if (ids?.has(task.id) !== false) usage.add(task);
      return usage.result(mostAttempts(value.file.attempts));
    },
  };
}

async function selectedTasks(
  section: CurriculumSection,
  { tasks }: BuiltSubmission,
  connect: ReadOptions['connect'],
  signal: AbortSignal,
): Promise<Curriculum> {
  if (connect === undefined)
    throw new StudioError('unavailable', 'The pass rates of the curriculum cannot be read: there is no server here.', {
      hint: 'Remove `curriculum` from the batch file, or run it where its earlier batch is.',
    });
  return applyCurriculum(section, tasks, await connect(), signal);
}

/** Returns values that can be iterated repeatedly. */
function again<T>(values: readonly T[]): AsyncIterable<T> {
  return {
    async *[Symbol.asyncIterator]() {
      for (const value of values) yield await Promise.resolve(value);
    },
  };
}

/** Returns how many records of the dataset are left out, and why, for the page of the batch. */
export function leftOutNote(problems: readonly Problem[]): string | undefined {
  const all = problems.find(({ code }) => code === 'left_out');
  if (all === undefined) return undefined;
  const rows = problems.filter(
    ({ severity, code }) => severity === 'warning' && (code === 'dataset' || code === 'syntax'),
  );
  const reasons = rows.map(({ file, line, message }) => `${path.basename(file)}:${line}: ${message}`);
  const text = `${all.message}: ${reasons.join('; ')}`;
  return text.length <= MAX_NOTE ? `${text}.` : `${text.slice(0, MAX_NOTE - 1)}…`;
}

/**
 * Lints the scenarios that the tasks of a batch name. Returns errors, or what is left of them with `lint: warn`. `pure`
 * receives the tools that never write, by scenario.
 */
async function lintErrors(
  loaded: LoadedBatch,
  files: Files,
  env: NodeJS.ProcessEnv,
  within: string | undefined,
  pure: Map<string, readonly string[]>,
): Promise<Problem[]> {
  const world = codeWorldIn(loaded.world);
  if (world === undefined) return [];
  if (within !== undefined) await requireWithin(within, world.scenarios.folder);
  const names = await scenariosOf(loaded, world, files);
  const seen = (health: ScenarioHealth): void => {
    if (health.pure !== undefined) pure.set(health.scenario, health.pure);
  };
  return await worldProblems(world, names, env, NEVER, { which: 'errors', seen });
}

/** Returns the mode of an option or of `ROLLOUT_SANDBOX`. Throws StudioError `usage`. */
export function sandboxMode(written: string | undefined): SandboxMode | undefined {
  if (written === undefined || written === '') return undefined;
  const mode = SANDBOX_MODES.find((candidate) => candidate === written);
  if (mode !== undefined) return mode;
  throw new StudioError('usage', `The sandbox mode is ${SANDBOX_MODES.join(', ')}, not ${written}.`);
}

/**
 * Returns the ports that building a submission needs on this machine. `within`: folder that modules and what they
 * import must be in; installed packages may be elsewhere. `pure`: tools that never write, by scenario. `connect`:
 * connects to the store that has recorded attempts.
 */
export function submitPorts(
  files: Files,
  root: string,
  env: NodeJS.ProcessEnv,
  within: string | undefined,
  {
    pure = new Map(),
    connect,
    signal = NEVER,
  }: Pick<ReadOptions, 'connect' | 'signal'> & { readonly pure?: ReadonlyMap<string, readonly string[]> } = {},
): SubmitPorts {
  return {
    files,
    product: PRODUCT,
    env: (name) => env[name],
    git: () => gitState(root),
    bundle: (module) => bundleWithin(module, root, within),
    recordings: async (sources) => {
      for (const source of sources)
        if (within !== undefined && 'path' in source) await requireWithin(within, source.path);
      return recordedFile(await recordCalls(sources, { connect, env, signal }));
    },
    simulation: simulationPorts({ root, env, files, connect, signal }),
    scenarios: async (worlds, names, now) => {
      if (within !== undefined) await requireWithin(within, worlds.folder);
      const read = await readScenarioFiles(worlds, names, now, path.join(cacheFolder(env), 'worlds'), NEVER);
      return new Map([...read].map(([name, parts]) => [name, { ...parts, pure: pure.get(name) }]));
    },
  };
}

/** Throws StudioError `forbidden` if files name a file or folder outside `within` for programs. */
export async function requireFolders(
  { agent, world, sandbox }: Pick<Submission, 'agent' | 'world' | 'sandbox'>,
  within: string | undefined,
): Promise<void> {
  if (within === undefined) return;
  const sources = sourcesOf({ world });
  const servers = [...toolsOf({ agent, world }), ...sources.flatMap(({ tools = [] }) => tools)].flatMap((set) =>
    set.kind === 'mcp' && 'command' in set.server ? [set.server] : [],
  );
  const programs = [
    ...servers,
    ...sources.flatMap(({ command: [command, ...args] = [], cwd }) =>
      command === undefined ? [] : [{ command, args, cwd }],
    ),
  ];
  const named = programs.flatMap(({ command, args, cwd = within }) => [
    cwd,
    // Programs are installed anywhere, and found by name, unless it is a relative path.
    ...(path.isAbsolute(command) || !/[\\/]/.test(command) ? [] : pathsNamed(command, cwd)),
    ...args.flatMap((argument) => pathsNamed(argument, cwd)),
  ]);
  for (const each of [...named, ...(sandbox?.read ?? []), ...(sandbox?.write ?? [])]) await requireWithin(within, each);
}

/** Bundles a module. Throws StudioError `forbidden` if it has text from outside `within`. */
export async function bundleWithin(module: string, root: string, within: string | undefined): Promise<Bundle> {
  if (within === undefined) return bundleModule(module, root);
  await requireWithin(within, module);
  const bundle = await bundleModule(module, root);
  const real = await realpath(root); // its inputs are relative to it
  for (const input of bundle.inputs)
    if (!input.split('/').includes('node_modules')) await requireWithin(within, path.resolve(real, input));
  return bundle;
}

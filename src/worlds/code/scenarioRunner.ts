/** A scenario that is loaded in a process of its own: its sessions are forked from it. */
import { randomUUID } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { abortable } from '../../common/abort.ts';
import { packageUrl, WORLD_RUNNER } from '../../common/entries.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { type SubmittedCodeWorld, type SubmittedScenario, scenarioCodeFile } from '../../config/submission/world.ts';
import { SessionKilled } from '../../rollout/sessionKilled.ts';
import type { ToolEnvironment, ToolPools } from '../../tools/environment.ts';
import { imagePython, interpreterReads, worldPython } from '../../tools/python/worldPython.ts';
import { removeProgramsFolder } from '../../tools/removeProgramsFolder.ts';
import { interpreterFolders, scratchIn } from '../../tools/sandbox/folders.ts';
import { openSandbox } from '../../tools/sandbox/open.ts';
import { ClassedError } from '../../trace/classedError.ts';
import type { Place } from '../../trace/schema.ts';
import { clockOf } from './clock.ts';
import { type LoadedScenario, loadedScenario, type RunnerFault } from './protocol.ts';
import { RunnerError, RunnerLost, RunnerProcess } from './runnerProcess.ts';

/** Loading takes about a second; a busy machine, or code that computes, takes longer. */
const LOAD_MS = 60_000;
const FOLDERS = 'worlds';
const IMAGE_HINT = 'Set `pods.image` to an image with it: `rollout world image` writes the recipe of one.';

/** A scenario of a submitted world. */
export interface ScenarioSource {
  readonly world: SubmittedCodeWorld;
  readonly name: string;
  readonly scenario: SubmittedScenario;
}

type RunnerEnvironment = Pick<ToolEnvironment, 'pools' | 'sandbox' | 'readBlob'>;

export class ScenarioRunner {
  readonly process: RunnerProcess;
  /** Everything that its programs may write to. */
  readonly folder: string;
  readonly template: string;
  readonly loaded: LoadedScenario;
  readonly #source: ScenarioSource;
  readonly #code: string;
  readonly #pools: ToolPools;

  private constructor(
    process: RunnerProcess,
    files: { readonly folder: string; readonly code: string; readonly template: string },
    loaded: LoadedScenario,
    source: ScenarioSource,
    pools: ToolPools,
  ) {
    this.process = process;
    this.folder = files.folder;
    this.template = files.template;
    this.loaded = loaded;
    this.#source = source;
    this.#code = files.code;
    this.#pools = pools;
  }

  /**
   * Starts a process and loads the scenario. `forks`: its sessions may be forked. Throws StudioError for what this
   * machine lacks, and ClassedError `world_error` for the scenario's code.
   */
  static async start(
    source: ScenarioSource,
    environment: RunnerEnvironment,
    forks: boolean,
    signal: AbortSignal,
  ): Promise<ScenarioRunner> {
    const { world, scenario } = source;
    const { pools, readBlob } = environment;
    const folder = await makeFolder(pools);
    try {
      const [code, template] = await Promise.all([
        readBlob(scenario.code, signal),
        readBlob(scenario.template, signal),
      ]);
      const files = { folder, code: path.join(folder, `${source.name}.py`), template: path.join(folder, 'template') };
      await Promise.all([writeFile(files.code, code), writeFile(files.template, template)]);
      const process = await startProcess(environment, folder, world.python, forks);
      try {
        const loading = process.request('load', {
          format: world.format,
          code: files.code,
          template: files.template,
          folder: path.join(folder, 'loading'),
          clock: clockOf(world),
        });
        const timeout = AbortSignal.timeout(LOAD_MS);
        const loaded = loadedScenario.parse(await abortable(loading, AbortSignal.any([signal, timeout])));
        return new ScenarioRunner(process, files, loaded, source, pools);
      } catch (error) {
        await process.close();
        throw loadError(error, source, { code: files.code, isRemote: isRemote(pools) }, signal);
      }
    } catch (error) {
      await removeProgramsFolder(folder, pools.processGroups);
      throw error;
    }
  }

  /** Returns the line of the scenario's published code that a fault names. */
  placeOf(fault: RunnerFault): Place | undefined {
    return placeOf(fault, this.#source, this.#code);
  }

  /** Ends it with its sessions, and removes its folder. */
  async close(): Promise<void> {
    await this.process.close();
    await removeProgramsFolder(this.folder, this.#pools.processGroups);
  }
}

/** Makes a folder in which the runner may write. In pods, it runs as another user of the same group. */
export async function makeFolder(pools: ToolPools): Promise<string> {
  const folder = path.join(pools.directory, FOLDERS, randomUUID());
  await mkdir(path.dirname(folder), { recursive: true, mode: 0o750 });
  await mkdir(folder);
  await chmod(folder, isRemote(pools) ? 0o770 : 0o700);
  return folder;
}

/** Starts a runner that may write only to its folder. Throws StudioError `unavailable` if there is no Python. */
export async function startProcess(
  { pools, sandbox }: Pick<ToolEnvironment, 'pools' | 'sandbox'>,
  folder: string,
  chosen: string | undefined,
  forks: boolean,
): Promise<RunnerProcess> {
  const { env, processGroups } = pools;
  const inPod = isRemote(pools);
  const python = inPod ? imagePython(env, chosen) : worldPython(env, chosen);
  if (python === undefined) throw noPython(chosen, inPod);
  const runner = fileURLToPath(packageUrl(WORLD_RUNNER));
  const opened = await openSandbox(
    sandbox,
    {
      read: [...interpreterFolders(env), ...interpreterReads(python), path.dirname(runner)],
      write: [folder],
      own: [folder],
      hide: sandbox.hide,
      caches: [],
      scratch: scratchIn(pools.scratch),
      network: false,
    },
    processGroups,
  );
  return new RunnerProcess({
    python,
    args: [runner, ...(forks ? [] : ['--single'])],
    cwd: folder,
    env: { ...env, PYTHONHASHSEED: '0', PYTHONIOENCODING: 'utf-8', PYTHONDONTWRITEBYTECODE: '1' },
    processGroups,
    sandbox: opened,
  });
}

function noPython(chosen: string | undefined, inPod: boolean): StudioError {
  // A path is one of the machine that submitted the world.
  const named = chosen === undefined || (inPod && path.isAbsolute(chosen)) ? 'Python 3.10 or later' : chosen;
  return inPod
    ? new StudioError('unavailable', `Worlds of kind code need ${named}, which the image of the pods does not have.`, {
        hint: IMAGE_HINT,
      })
    : new StudioError('unavailable', `Worlds of kind code need ${named}, which is missing.`, {
        hint: 'Install Python 3, then run `rollout world setup`.',
      });
}

/** Whether worlds run in another container. */
function isRemote({ processGroups }: ToolPools): boolean {
  return processGroups.toolServer !== undefined;
}

function loadError(
  error: unknown,
  source: ScenarioSource,
  { code, isRemote: inPod }: { readonly code: string; readonly isRemote: boolean },
  signal: AbortSignal,
): Error {
  const named = `The scenario ${source.name} of the world ${source.world.name}`;
  if (error instanceof RunnerError) {
    const { fault } = error;
    const place = placeOf(fault, source, code);
    if (fault.class === 'missing_package')
      return new StudioError('config', `${named} needs the Python package ${fault.message}, which is not installed.`, {
        hint: inPod
          ? IMAGE_HINT
          : 'Run `rollout world setup`, or set `python` in the world file to an interpreter that has it.',
        details: { place },
      });
    return new ClassedError('world_error', `${named} cannot run. ${fault.message}`, { place, stack: fault.stack });
  }
  if (signal.aborted) return ClassedError.from(error, 'cancelled');
  if (error instanceof RunnerLost)
    return new StudioError('unavailable', `${named} cannot be loaded. ${error.message}`, {
      cause: error.killed ? new SessionKilled(error.message, { cause: error }) : error,
    });
  const isLate = StudioError.is(error, 'cancelled');
  const why = isLate ? `loading its code takes longer than ${LOAD_MS / 1000} s` : errorText(error);
  return new ClassedError('world_error', `${named} cannot run: ${why}.`, { cause: error });
}

/** Returns the place in a scenario's code. */
function placeOf({ file, line }: RunnerFault, { name, scenario }: ScenarioSource, code: string): Place | undefined {
  return file !== code || line === undefined ? undefined : { file: scenarioCodeFile(name, scenario), line, column: 1 };
}

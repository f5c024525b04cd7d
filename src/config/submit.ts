/** Builds a submission (see `submission.ts`) from loaded files. */

import type { TaskRecord } from '../trace/task.ts';
import type { Files } from './files.ts';
import type { LoadedAgent } from './load/agent.ts';
import type { RecordingSource } from './load/recorded.ts';
import type { Scenarios } from './load/scenarios.ts';
import type { LoadedScorer } from './load/scorer.ts';
import { type LoadedCodeWorld, type LoadedSimulatedWorld, type LoadedWorld, worldsIn } from './load/world.ts';
import type { LoadedBatch } from './load.ts';
import { relative } from './paths.ts';
import { mostAttempts } from './schema/attemptsSection.ts';
import type { ParsedFile } from './source/parse.ts';
import type { Problem } from './source/problem.ts';
import {
  type Submission,
  type SubmittedAgent,
  type SubmittedScorer,
  type SubmittedTools,
  type SubmittedWorld,
  submission as submissionSchema,
} from './submission.ts';
import { type Bundle, Bundles, blobsAndTasks, type SubmissionBlob } from './submit/blobs.ts';
import { collectEnvironment } from './submit/environment.ts';
import { answered, batchTruths } from './submit/facts.ts';
import { submittedMix } from './submit/mix.ts';
import { type RecordingFile, submittedRecordings } from './submit/recordings.ts';
import { submittedRules, withRules } from './submit/rules.ts';
import { type ScenarioFiles, type SentScenarios, sentScenarios } from './submit/scenarios.ts';
import {
  filesOf,
  moduleOf,
  submittedAgent,
  submittedCodeWorld,
  submittedModuleWorld,
  submittedPods,
  submittedSandbox,
  submittedScorer,
  submittedTools,
} from './submit/sections.ts';
import { plannedSimulation, readSimulation, type SimulationPorts } from './submit/simulation.ts';
import { recordedTasks, tasksOf, type WorldTasks } from './submit/worldTasks.ts';

export interface SubmitPorts {
  readonly files: Files;
  /** Bundles the module at an absolute path. Throws StudioError `config` if it does not build. */
  bundle(path: string): Promise<Bundle>;
  /**
   * Reads scenarios of published worlds. `now`: the time at which their initial state is built. Throws StudioError
   * `config`, with file and line, for one that is missing or cannot run.
   */
  scenarios(worlds: Scenarios, names: readonly string[], now: string): Promise<ReadonlyMap<string, ScenarioFiles>>;
  /**
   * Reads the calls of recordings, each source in turn. Throws SourceError for one that does not exist or has no calls.
   * Absent where no world can be recorded.
   */
  recordings?(sources: readonly RecordingSource[]): Promise<RecordingFile>;
  /** Returns the value of an environment variable on the submitting machine. */
  env(name: string): string | undefined;
  /** Reads what simulated worlds take from elsewhere. */
  readonly simulation: SimulationPorts;
  /**
   * Called before anything is opened or run for the submission. Throws if that is not allowed. `planned`: the
   * submission, without what is read.
   */
  permit?(planned: Submission, tasks: AsyncIterable<TaskRecord>): Promise<void>;
  /** Returns undefined outside a repository. */
  git(): Promise<{ readonly commit: string; readonly dirty: boolean } | undefined>;
  /** Name and version of the product. */
  readonly product: string;
}

export interface BuiltSubmission {
  readonly submission: Submission;
  /** Values for `${env:…}` by name; never stored with the submission. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Values that cannot be hidden, by the names of their variables, and what is left out of scenarios. */
  readonly warnings: readonly Problem[];
  /** Those of `code`, then the attachments of all tasks, each once. Can be iterated repeatedly. */
  readonly blobs: AsyncIterable<SubmissionBlob>;
  /** Bundles, source maps, and scenarios: all that a fork needs, because its task is already stored. */
  readonly code: AsyncIterable<SubmissionBlob>;
  /**
   * Streamed from the dataset. An invalid record throws StudioError `config` with its location. Can be iterated
   * repeatedly.
   */
  readonly tasks: AsyncIterable<TaskRecord>;
}

/**
 * Builds a submission. Throws one StudioError `config` for all environment variables that are not set, and whatever
 * bundling throws.
 */
export async function buildSubmission(loaded: LoadedBatch, ports: SubmitPorts): Promise<BuiltSubmission> {
  const { agent, world, file, root } = loaded;
  const environment = collectEnvironment([...filesOf(agent), ...worldFiles(world), loaded.parsed], root, ports);
  const bundles = new Bundles(ports);
  const git = await ports.git();
  // Requests all modules at once, so that they are bundled together.
  const [submitted, scorer, ownWorld, perturb] = await Promise.all([
    submittedAgent(agent, root, ports.files, bundles),
    submittedScorer({ ...loaded, scorer: file.scorer }, bundles),
    world === undefined ? undefined : submittedWorld(tasksOf(loaded, ports.files), world, ports, bundles),
    world === undefined ? [] : submittedRules(world, bundles),
  ]);
  const code = codeBlobs(bundles, ownWorld?.blobs);
  const truths = await batchTruths(loaded, ports);
  const parts = answered(blobsAndTasks(loaded, ports.files, code), truths);
  const ruled = (world: SubmittedWorld): SubmittedWorld => withRules(world, perturb, loaded.noPerturb !== true);
  const planned: Submission = {
    version: 1,
    name: loaded.name,
    file: relative(root, loaded.path),
    agent: submitted,
    ...(ownWorld === undefined ? {} : { world: ruled(ownWorld.world) }),
    ...(loaded.noPerturb === true ? { no_perturb: true } : {}),
    scorer,
    attempts: mostAttempts(file.attempts),
    ...(typeof file.attempts === 'number'
      ? {}
      : { adaptive: { least: file.attempts.least, until: file.attempts.until } }),
    ...(file.mix === undefined ? {} : { mix: submittedMix(file.mix, loaded) }),
    seed: file.seed,
    stop: file.stop,
    retry: file.retry,
    order: file.order,
    priority: file.priority,
    ...(file.queue === undefined ? {} : { queue: file.queue }),
    concurrency: file.concurrency,
    hold_limit_seconds: file.hold_limit,
    sandbox: submittedSandbox(loaded, ports.files),
    ...(file.notify === undefined ? {} : { notify: file.notify }),
    ...(file.share === undefined ? {} : { share: file.share }),
    ...(file.pods === undefined ? {} : { pods: submittedPods(loaded, file.pods) }),
    env: { names: environment.names, shown: environment.shown },
    ...(git === undefined ? {} : { git }),
    product: ports.product,
  };
  // Validates what leaves this machine with the schema that the server uses.
  const parsed = submissionSchema.parse(planned);
  await ports.permit?.(parsed, parts.tasks);
  const read = await ownWorld?.read?.();
  return {
    submission: read === undefined ? parsed : submissionSchema.parse({ ...planned, world: ruled(read.world) }),
    secrets: environment.secrets,
    warnings: [...environment.warnings, ...(ownWorld?.problems ?? []), ...truths.problems, ...(read?.problems ?? [])],
    code,
    ...parts,
  };
}

/** A world, the blobs of its scenarios or recordings, and how the rest of it is read. */
interface SentWorld extends Omit<SentScenarios, 'scenarios'> {
  readonly world: SubmittedWorld;
  /** Reads what simulated worlds take from elsewhere, once that is permitted. */
  readonly read?: () => Promise<ReadWorld>;
}

/** A complete world. */
interface ReadWorld {
  readonly world: SubmittedWorld;
  readonly problems: readonly Problem[];
}

/** Returns a world with all that it contains. */
async function submittedWorld(
  loaded: WorldTasks,
  world: LoadedWorld,
  ports: SubmitPorts,
  bundles: Bundles,
): Promise<SentWorld> {
  const [own, nested] = await Promise.all([
    submittedOne(loaded, world, ports, bundles),
    Promise.all(
      Object.entries(world.worlds).map(async ([key, each]) => {
        const sent = await submittedWorld(loaded, each, ports, bundles);
        return { ...sent, key, world: inner(sent.world) };
      }),
    ),
  ]);
  if (nested.length === 0) return own;
  const worlds = Object.fromEntries(nested.map((each) => [each.key, each.world]));
  const all = [own, ...nested];
  return {
    world: { ...own.world, worlds },
    blobs: all.flatMap(({ blobs }) => blobs),
    problems: all.flatMap(({ problems }) => problems),
    ...(all.every(({ read }) => read === undefined) ? {} : { read: () => readAll(own, nested) }),
  };
}

/** Returns a world inside another one. Its rules, user, and shadow do not apply: those of the outermost world do. */
function inner(world: SubmittedWorld): SubmittedWorld {
  const { user: _, shadow: __, ...inside } = world;
  return inside;
}

async function readAll(own: SentWorld, nested: readonly (SentWorld & { readonly key: string })[]): Promise<ReadWorld> {
  const whole = async ({ world, read }: SentWorld): Promise<ReadWorld> => (await read?.()) ?? { world, problems: [] };
  const { world, problems } = await whole(own);
  const inside = await Promise.all(nested.map(async (each) => ({ key: each.key, ...(await whole(each)) })));
  return {
    world: { ...world, worlds: Object.fromEntries(inside.map((each) => [each.key, inner(each.world)])) },
    problems: [problems, ...inside.map((each) => each.problems)].flat(),
  };
}

async function submittedOne(
  loaded: WorldTasks,
  world: LoadedWorld,
  ports: SubmitPorts,
  bundles: Bundles,
): Promise<SentWorld> {
  const { root } = loaded;
  switch (world.kind) {
    case 'module':
      return { world: submittedModuleWorld(world, await bundles.add(moduleOf(world)), root), blobs: [], problems: [] };
    case 'simulated':
      return await sentSimulation(world, root, ports, bundles);
    case 'recorded':
      return await submittedRecordings(loaded, world, ports);
    case 'code':
      return await submittedScenarios(await loaded.scenarios(world), world, root, ports);
  }
}

async function sentSimulation(
  world: LoadedSimulatedWorld,
  root: string,
  ports: SubmitPorts,
  bundles: Bundles,
): Promise<SentWorld> {
  const planned = await plannedSimulation(world, root, ports, bundles);
  return {
    world: planned.world,
    blobs: planned.blobs,
    problems: planned.problems,
    read: () => readSimulation(world, planned, root, ports.files, ports.simulation),
  };
}

async function submittedScenarios(
  names: readonly string[],
  world: LoadedCodeWorld,
  root: string,
  ports: SubmitPorts,
): Promise<SentWorld> {
  const { scenarios, ...sent } = await sentScenarios(names, world, root, ports);
  return { ...sent, world: submittedCodeWorld(world, scenarios, root, ports.files) };
}

function codeBlobs(bundles: Bundles, scenarios: readonly SubmissionBlob[] = []): AsyncIterable<SubmissionBlob> {
  return {
    async *[Symbol.asyncIterator]() {
      yield* bundles.blobs();
      yield* scenarios;
    },
  };
}

/** A scorer without a batch. */
interface BuiltScorer extends Pick<BuiltSubmission, 'secrets' | 'blobs'> {
  readonly scorer: SubmittedScorer;
  /** The world whose verifier it is, if its file names one; without the scenarios, which are those that were run. */
  readonly world?: SubmittedWorld;
  readonly env: Submission['env'];
}

/** Builds a scorer. Its paths are relative to `root`. Throws as `buildSubmission` does. */
export async function buildScorer(loaded: LoadedScorer, root: string, ports: SubmitPorts): Promise<BuiltScorer> {
  const { path, parsed, section, rubric, world } = loaded;
  // The rest of a batch file is not used.
  const { secrets, names, shown } = collectEnvironment([only(parsed, 'scorer'), world?.parsed], root, ports);
  const bundles = new Bundles(ports);
  const parts = { path, scorer: section, ...(rubric === undefined ? {} : { rubric }) };
  const scorer = await submittedScorer(parts, bundles);
  const submitted =
    world?.kind === 'module'
      ? submittedModuleWorld(world, await bundles.add(moduleOf(world)), root)
      : world?.kind === 'code'
        ? submittedCodeWorld(world, {}, root, ports.files)
        : undefined;
  return {
    scorer: submissionSchema.shape.scorer.parse(scorer),
    ...(submitted === undefined ? {} : { world: submissionSchema.shape.world.unwrap().parse(submitted) }),
    secrets,
    env: { names, shown },
    blobs: { [Symbol.asyncIterator]: () => bundles.blobs() },
  };
}

/** Returns a file as if it had only one key. */
function only(parsed: ParsedFile, key: string): ParsedFile {
  return filtered(parsed, (name) => name === key);
}

/** Returns the files of a world and of all that it contains, without what does not apply of those. */
function worldFiles(world: LoadedWorld | undefined, isInside = false): ParsedFile[] {
  return worldsIn(world).map(({ parsed }) =>
    parsed === world?.parsed && !isInside
      ? parsed
      : filtered(parsed, (name) => !['user', 'perturb', 'shadow', 'lookahead'].includes(name)),
  );
}

function filtered(parsed: ParsedFile, keep: (key: string) => boolean): ParsedFile {
  const { value } = parsed;
  const members = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return { ...parsed, value: Object.fromEntries(members.filter(([name]) => keep(name))) };
}

/** An agent without a batch: its part of a submission. */
interface BuiltAgent extends Pick<BuiltSubmission, 'secrets' | 'blobs'> {
  readonly agent: SubmittedAgent;
  readonly env: Submission['env'];
}

/** Builds an agent. Its paths are relative to `root`. Throws as `buildSubmission` does. */
export async function buildAgent(agent: LoadedAgent, root: string, ports: SubmitPorts): Promise<BuiltAgent> {
  const { secrets, names, shown } = collectEnvironment(filesOf(agent), root, ports);
  const bundles = new Bundles(ports);
  const built = await submittedAgent(agent, root, ports.files, bundles);
  return {
    agent: submissionSchema.shape.agent.parse(built),
    secrets,
    env: { names, shown },
    blobs: { [Symbol.asyncIterator]: () => bundles.blobs() },
  };
}

/**
 * Builds only the tools of an agent, to try them. `${env:…}` stays as written. Throws as `buildSubmission` does if a
 * module does not build.
 */
export async function buildTools(
  agent: LoadedAgent,
  root: string,
  ports: SubmitPorts,
): Promise<Pick<BuiltAgent, 'blobs'> & { readonly tools: SubmittedTools[] }> {
  const bundles = new Bundles(ports);
  const tools = await Promise.all(
    agent.file.tools.map((entry, index) =>
      submittedTools(entry, ['tools', index], { ...agent, root }, ports.files, bundles),
    ),
  );
  return { tools: tools.flat(), blobs: { [Symbol.asyncIterator]: () => bundles.blobs() } };
}

/**
 * Builds only the world of a batch, with its tasks, to try its tools. `${env:…}` stays as written. Throws as
 * `buildSubmission` does if its module does not build, or a scenario cannot run.
 */
export async function buildWorld(
  loaded: LoadedBatch & { readonly world: LoadedWorld },
  ports: SubmitPorts,
): Promise<Pick<BuiltSubmission, 'blobs' | 'tasks'> & { readonly world: SubmittedWorld }> {
  const bundles = new Bundles(ports);
  const { world, blobs, read } = await submittedWorld(tasksOf(loaded, ports.files), loaded.world, ports, bundles);
  return {
    world: (await read?.())?.world ?? world,
    ...blobsAndTasks(loaded, ports.files, codeBlobs(bundles, blobs)),
  };
}

/**
 * Builds a code world with one scenario, without a batch. `${env:…}` stays as written. Throws as `buildSubmission`
 * does if the scenario cannot run.
 */
export async function buildScenario(
  world: LoadedCodeWorld,
  scenario: string,
  root: string,
  ports: SubmitPorts,
): Promise<{ readonly world: SubmittedWorld; readonly blobs: readonly SubmissionBlob[] }> {
  return await submittedScenarios([scenario], world, root, ports);
}

/** A world without a batch, which predicts calls of recorded tasks. */
interface BuiltPredictor extends Pick<BuiltSubmission, 'secrets' | 'warnings' | 'blobs'> {
  readonly world: SubmittedWorld;
  readonly env: Submission['env'];
}

/**
 * Builds a world that predicts what recorded calls returned: its rules, its user, and its shadow do not apply. Throws
 * as `buildSubmission` does.
 */
export async function buildPredictor(
  world: LoadedWorld,
  tasks: readonly TaskRecord[],
  root: string,
  ports: SubmitPorts,
): Promise<BuiltPredictor> {
  const { secrets, names, shown, warnings } = collectEnvironment(worldFiles(world, true), root, ports);
  const bundles = new Bundles(ports);
  const sent = await submittedWorld(recordedTasks(root, tasks), world, ports, bundles);
  const read = await sent.read?.();
  const { user: _, shadow: __, ...own } = read?.world ?? sent.world;
  return {
    world: submissionSchema.shape.world.unwrap().parse({ ...own, perturb: [] }),
    secrets,
    env: { names, shown },
    warnings: [...warnings, ...sent.problems, ...(read?.problems ?? [])],
    blobs: codeBlobs(bundles, sent.blobs),
  };
}

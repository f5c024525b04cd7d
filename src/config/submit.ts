/** Builds a submission (see `submission.ts`) from loaded files. */
import type { TaskRecord } from '../trace/task.ts';
import type { Files } from './files.ts';
import type { LoadedAgent } from './load/agent.ts';
import type { LoadedWorld } from './load/world.ts';
import type { LoadedBatch } from './load.ts';
import { relative } from './paths.ts';
import type { Problem } from './source/problem.ts';
import {
  type Submission,
  type SubmittedAgent,
  type SubmittedTools,
  type SubmittedWorld,
  submission as submissionSchema,
} from './submission.ts';
import { type Bundle, Bundles, blobsAndTasks, type SubmissionBlob } from './submit/blobs.ts';
import { collectEnvironment } from './submit/environment.ts';
import {
  filesOf,
  moduleOf,
  submittedAgent,
  submittedPods,
  submittedSandbox,
  submittedScorer,
  submittedTools,
  submittedWorld,
} from './submit/sections.ts';

export interface SubmitPorts {
  readonly files: Files;
  /** Bundles the module at an absolute path. Throws StudioError `config` if it does not build. */
  bundle(path: string): Promise<Bundle>;
  /** Returns the value of an environment variable on the submitting machine. */
  env(name: string): string | undefined;
  /** Returns undefined outside a repository. */
  git(): Promise<{ readonly commit: string; readonly dirty: boolean } | undefined>;
  /** Name and version of the product. */
  readonly product: string;
}

export interface BuiltSubmission {
  readonly submission: Submission;
  /** Values for `${env:…}` by name; never stored with the submission. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Values that cannot be hidden, by the names of their variables. */
  readonly warnings: readonly Problem[];
  /** Bundles, source maps, then the attachments of all tasks, each once. Can be iterated repeatedly. */
  readonly blobs: AsyncIterable<SubmissionBlob>;
  /** Only bundles and source maps: all that a fork needs, because its task is already stored. */
  readonly modules: AsyncIterable<SubmissionBlob>;
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
  const environment = collectEnvironment([...filesOf(agent), world?.parsed, loaded.parsed], root, ports);
  const bundles = new Bundles(ports);
  const git = await ports.git();
  // Requests all modules at once, so that they are bundled together.
  const worldModule = world === undefined ? undefined : bundles.add(moduleOf(world));
  worldModule?.catch(() => undefined); // awaited below, unless something else fails first
  const [scorer, submitted] = await Promise.all([
    submittedScorer(loaded, bundles),
    submittedAgent(agent, root, ports.files, bundles),
  ]);
  const built: Submission = {
    version: 1,
    name: loaded.name,
    file: relative(root, loaded.path),
    agent: submitted,
    ...(world === undefined || worldModule === undefined
      ? {}
      : { world: submittedWorld(world, await worldModule, root) }),
    scorer,
    attempts: file.attempts,
    seed: file.seed,
    stop: file.stop,
    retry: file.retry,
    order: file.order,
    priority: file.priority,
    concurrency: file.concurrency,
    hold_limit_seconds: file.hold_limit,
    sandbox: submittedSandbox(loaded, ports.files),
    ...(file.notify === undefined ? {} : { notify: file.notify }),
    ...(file.pods === undefined ? {} : { pods: submittedPods(loaded, file.pods) }),
    env: { names: environment.names, shown: environment.shown },
    ...(git === undefined ? {} : { git }),
    product: ports.product,
  };
  return {
    // Validates what leaves this machine with the schema that the server uses.
    submission: submissionSchema.parse(built),
    secrets: environment.secrets,
    warnings: environment.warnings,
    modules: { [Symbol.asyncIterator]: () => bundles.blobs() },
    ...blobsAndTasks(loaded, ports.files, bundles),
  };
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
    agent.file.tools.map((entry, index) => submittedTools(entry, index, { ...agent, root }, ports.files, bundles)),
  );
  return { tools: tools.flat(), blobs: { [Symbol.asyncIterator]: () => bundles.blobs() } };
}

/**
 * Builds only the world of a batch, with its tasks, to try its tools. `${env:…}` stays as written. Throws as
 * `buildSubmission` does if its module does not build.
 */
export async function buildWorld(
  loaded: LoadedBatch & { readonly world: LoadedWorld },
  ports: SubmitPorts,
): Promise<Pick<BuiltSubmission, 'blobs' | 'tasks'> & { readonly world: SubmittedWorld }> {
  const bundles = new Bundles(ports);
  const world = submittedWorld(loaded.world, await bundles.add(moduleOf(loaded.world)), loaded.root);
  return { world, ...blobsAndTasks(loaded, ports.files, bundles) };
}

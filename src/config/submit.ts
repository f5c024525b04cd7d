/** Builds a submission (see `submission.ts`) from loaded files. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { StudioError } from '../common/errors.ts';
import type { TaskRecord } from '../trace/task.ts';
import type { FileTask } from './dataset/columns.ts';
import { readTasks } from './dataset/dataset.ts';
import { envNamesIn, resolveEnv } from './env.ts';
import type { Files } from './files.ts';
import { type LoadedAgent, mcpName } from './load/agent.ts';
import { endpointsOf, isEndpoint } from './load/model.ts';
import { afterOf, worksItself } from './load/team.ts';
import type { LoadedWorld } from './load/world.ts';
import type { LoadedBatch } from './load.ts';
import { dirname, joinPath, relative } from './paths.ts';
import { type BuiltinSettings, SETTINGS } from './schema/builtinSettings.ts';
import type { ModelSection } from './schema/modelSection.ts';
import type { ToolEntry } from './schema/toolEntry.ts';
import type { ParsedFile, Path } from './source/parse.ts';
import { type Problem, problemsError } from './source/problem.ts';
import { type TextAt, textsOf } from './source/strings.ts';
import {
  type AnswerRule,
  type Position,
  type Submission,
  type SubmittedAgent,
  type SubmittedMember,
  type SubmittedModel,
  type SubmittedModule,
  type SubmittedScorer,
  type SubmittedTools,
  type SubmittedWorld,
  submission as submissionSchema,
} from './submission.ts';
import { CATALOGUE } from './tools/mcp/catalogue.ts';

/** A bundled module, as created by `tools/bundle.ts`. */
interface Bundle {
  /** Relative to the workspace root, with `/`. */
  readonly file: string;
  readonly code: Uint8Array;
  readonly map: Uint8Array;
  readonly bundleSha: string;
  readonly mapSha: string;
}

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

/** Content for the server's blob store: in memory, or a file to read it from. */
type SubmissionBlob =
  | { readonly sha: string; readonly media: string; readonly bytes: Uint8Array }
  | { readonly sha: string; readonly media: string; readonly path: string };

export interface BuiltSubmission {
  readonly submission: Submission;
  /** Values for `${env:…}` by name; never stored with the submission. */
  readonly secrets: Readonly<Record<string, string>>;
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
    ...(file.notify === undefined ? {} : { notify: file.notify }),
    ...(file.pods === undefined ? {} : { pods: file.pods }),
    env: { names: environment.names, shown: environment.shown },
    ...(git === undefined ? {} : { git }),
    product: ports.product,
  };
  return {
    // Validates what leaves this machine with the schema that the server uses.
    submission: submissionSchema.parse(built),
    secrets: environment.secrets,
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

// ---- environment variables --------------------------------------------------------------------------------------

function collectEnvironment(
  files: readonly (ParsedFile | undefined)[],
  root: string,
  ports: SubmitPorts,
): { names: string[]; shown: string[]; secrets: Record<string, string> } {
  const problems: Problem[] = [];
  const secrets: Record<string, string> = {};
  const open = new Set<string>();
  const hidden = new Set<string>();
  const sources = files.filter((parsed) => parsed !== undefined);
  for (const parsed of sources) {
    for (const { path, text } of textsOf(parsed.value)) {
      for (const name of envNamesIn(text)) {
        (isShown(path) ? open : hidden).add(name);
        const value = ports.env(name);
        if (value === undefined || value === '') {
          problems.push(
            parsed.problem(path, {
              code: 'env',
              variable: name,
              message: `the environment variable ${name} is ${value === '' ? 'empty' : 'not set'}`,
              hint: `Set ${name} where you submit, for example with \`export ${name}=…\`.`,
            }),
          );
        } else {
          secrets[name] = value;
        }
      }
    }
  }
  if (problems.length === 0) problems.push(...endpointProblems(sources, secrets));
  if (problems.length > 0) throw problemsError(problems, root);
  const names = Object.keys(secrets).sort();
  return { names, shown: names.filter((name) => open.has(name) && !hidden.has(name)), secrets };
}

/** Endpoints and names of models are not secret. */
function isShown(path: Path): boolean {
  const at = path.lastIndexOf('model');
  const key = at === -1 ? undefined : path[at + 1];
  return key === 'endpoint' || key === 'name';
}

/** Checks endpoints from environment variables, whose values are now known. */
function endpointProblems(sources: readonly ParsedFile[], secrets: Readonly<Record<string, string>>): Problem[] {
  const wrong = (parsed: ParsedFile, { path, text }: TextAt): Problem[] => {
    const at = path.lastIndexOf('model');
    if (
      at === -1 ||
      path[at + 1] !== 'endpoint' ||
      envNamesIn(text).length === 0 ||
      isEndpoint(resolveEnv(text, secrets))
    )
      return [];
    const names = envNamesIn(text).join(', ');
    return [
      parsed.problem(path, {
        code: 'env',
        message: `the value of ${names} does not result in a valid endpoint URL`,
        hint: 'For example, set it to http://localhost:8000/v1.',
      }),
    ];
  };
  return sources.flatMap((parsed) => textsOf(parsed.value).flatMap((text) => wrong(parsed, text)));
}

// ---- sections ---------------------------------------------------------------------------------------------------

/** Returns the files of an agent and of all members of its team, each once. */
function filesOf(agent: LoadedAgent): ParsedFile[] {
  const files = [
    agent,
    ...(agent.team?.members ?? []).flatMap(function below({ agent: member }): LoadedAgent[] {
      return [member, ...(member.team?.members ?? []).flatMap(below)];
    }),
  ];
  return [...new Map(files.map(({ path, parsed }) => [path, parsed])).values()];
}

async function submittedAgent(
  { file, path, prompt, parsed, team }: LoadedAgent,
  root: string,
  files: Files,
  bundles: Bundles,
): Promise<SubmittedAgent> {
  const [tools, members] = await Promise.all([
    Promise.all(file.tools.map((entry, index) => submittedTools(entry, index, { path, parsed, root }, files, bundles))),
    Promise.all(
      (team?.members ?? []).map(
        async (member, index): Promise<SubmittedMember> => ({
          name: member.name,
          agent: await submittedAgent(member.agent, root, files, bundles),
          ...(team?.kind === 'workflow' ? { after: [...afterOf(team.members, index)] } : {}),
          ...(member.to === undefined ? {} : { to: member.to }),
          ...(member.loop === undefined ? {} : { loop: member.loop }),
          position: placeOf(parsed, member.at, root),
        }),
      ),
    ),
  ]);
  const model = file.model === undefined ? members[0]?.agent.model : submittedModel(file.model);
  if (model === undefined)
    throw new StudioError('internal', `The agent ${file.name} passed the check of its file without a model.`);
  return {
    name: file.name,
    file: relative(root, path),
    ...(file.description === undefined ? {} : { description: file.description }),
    model,
    prompt: { text: prompt?.text ?? '', ...(prompt?.path === undefined ? {} : { file: relative(root, prompt.path) }) },
    tools: tools.flat(),
    answer: answerRule(file.answer),
    context: file.context,
    limits: file.limits,
    ...(team === undefined ? {} : { team: { kind: team.kind, itself: worksItself(file), members } }),
  };
}

function submittedWorld(
  { file, path, parsed, userPrompt }: LoadedWorld,
  module: SubmittedModule,
  root: string,
): SubmittedWorld {
  return {
    name: file.name,
    file: relative(root, path),
    kind: 'module',
    module,
    ...(file.needs === undefined ? {} : { needs: file.needs, position: placeOf(parsed, ['needs'], root) }),
    ...(file.user === undefined || userPrompt === undefined
      ? {}
      : { user: { model: submittedModel(file.user.model), prompt: userPrompt.text } }),
    perturb: [],
  };
}

function moduleOf({ path, file }: LoadedWorld): string {
  return joinPath(dirname(path), file.module);
}

function submittedModel(model: ModelSection): SubmittedModel {
  return {
    endpoints: endpointsOf(model),
    name: model.name,
    ...(model.api_key === undefined ? {} : { api_key: model.api_key }),
    headers: model.headers,
    sampling: model.sampling as SubmittedModel['sampling'], // `extra` was parsed from YAML or JSON
    capture: model.capture,
    ...(model.price === undefined ? {} : { price: model.price }),
    endpoint_wait_seconds: model.endpoint_wait,
  };
}

async function submittedTools(
  entry: ToolEntry,
  index: number,
  agent: { readonly path: string; readonly parsed: ParsedFile; readonly root: string },
  files: Files,
  bundles: Bundles,
): Promise<SubmittedTools[]> {
  const { path, parsed, root } = agent;
  const position = placeOf(parsed, ['tools', index], root);
  const programs = [
    ...(entry.needs ?? []),
    ...(entry.mcp?.catalogued === undefined ? [] : CATALOGUE[entry.mcp.catalogued].needs),
  ];
  const needs = programs.length === 0 ? {} : { needs: programs };
  const limits = entry.limits === undefined ? {} : { limits: entry.limits };
  if (entry.module !== undefined)
    return [
      {
        kind: 'module',
        module: await bundles.add(joinPath(dirname(path), entry.module)),
        position,
        ...needs,
        ...(entry.secrets === undefined ? {} : { secrets: entry.secrets }),
      },
    ];
  if (entry.builtin !== undefined)
    return entry.builtin.map((name) => ({
      kind: 'builtin',
      name,
      ...settingsOf(entry, name),
      ...(name === 'terminal' || name === 'code' ? limits : {}),
      position,
      ...needs,
    }));
  const { command, args = [], env = {}, cwd, url = '', headers = {} } = entry.mcp ?? {};
  return [
    {
      kind: 'mcp',
      name: mcpName(entry),
      position,
      ...needs,
      ...limits,
      shared: entry.shared ?? false,
      ...(entry.tools === undefined ? {} : { tools: entry.tools }),
      server:
        command === undefined
          ? { url, headers }
          : {
              command,
              args,
              env,
              ...(cwd === undefined
                ? {}
                : { cwd: cwd.includes('${') ? cwd : files.absolute(joinPath(dirname(path), cwd)) }),
            },
    },
  ];
}

/** Returns the settings of one built-in set. */
function settingsOf(entry: ToolEntry, name: string): { readonly settings?: BuiltinSettings } {
  const set = SETTINGS.find((key) => key === name);
  return set === undefined || entry[set] === undefined ? {} : { settings: { [set]: entry[set] } };
}

/** Returns a position relative to the root. */
function placeOf(parsed: ParsedFile, at: Path, root: string): Position {
  const { line, column } = parsed.valueRange(at);
  return { file: relative(root, parsed.file), line, column };
}

function answerRule(answer: LoadedBatch['agent']['file']['answer']): AnswerRule {
  if (answer === 'last_message') return { kind: 'last_message' };
  if (answer.tool !== undefined) return { kind: 'tool', tool: answer.tool };
  if (answer.tag !== undefined) return { kind: 'tag', tag: answer.tag };
  if (answer.regex !== undefined) return { kind: 'regex', regex: answer.regex };
  throw new StudioError('internal', 'An answer rule without content passed the check of its file.');
}

async function submittedScorer({ file, path, rubric }: LoadedBatch, bundles: Bundles): Promise<SubmittedScorer> {
  const { scorer } = file;
  switch (scorer.kind) {
    case 'module':
      return {
        kind: 'module',
        module: await bundles.add(joinPath(dirname(path), scorer.module)),
        export: scorer.export,
      };
    case 'judge':
      return {
        kind: 'judge',
        model: submittedModel(scorer.model),
        rubric: rubric?.text ?? scorer.rubric,
        pass: scorer.pass,
      };
    default:
      return scorer;
  }
}

// ---- blobs and tasks --------------------------------------------------------------------------------------------

/** Bundles each module once, even if agent, world, and scorer share it. */
class Bundles {
  readonly #ports: SubmitPorts;
  readonly #bundles = new Map<string, Promise<Bundle>>();

  constructor(ports: SubmitPorts) {
    this.#ports = ports;
  }

  async add(path: string): Promise<SubmittedModule> {
    const bundle = this.#bundles.get(path) ?? this.#ports.bundle(path);
    this.#bundles.set(path, bundle);
    const { file, bundleSha, mapSha } = await bundle;
    return { file, path, bundle: bundleSha, map: mapSha };
  }

  async *blobs(): AsyncGenerator<SubmissionBlob> {
    for (const bundle of this.#bundles.values()) {
      const { code, map, bundleSha, mapSha } = await bundle;
      yield { sha: bundleSha, media: 'text/javascript', bytes: code };
      yield { sha: mapSha, media: 'application/json', bytes: map };
    }
  }
}

/** Hashes attachments; each file is read once. */
class Attachments {
  readonly #files: Files;
  readonly #hashes = new Map<string, { sha: string; bytes: number }>();

  constructor(files: Files) {
    this.#files = files;
  }

  async of(path: string): Promise<{ sha: string; bytes: number }> {
    const cached = this.#hashes.get(path);
    if (cached !== undefined) return cached;
    const hash = sha256.create();
    let bytes = 0;
    for await (const chunk of this.#files.bytes(path)) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    const result = { sha: bytesToHex(hash.digest()), bytes };
    this.#hashes.set(path, result);
    return result;
  }
}

function blobsAndTasks(loaded: LoadedBatch, files: Files, bundles: Bundles): Pick<BuiltSubmission, 'blobs' | 'tasks'> {
  const attachments = new Attachments(files);
  return {
    blobs: { [Symbol.asyncIterator]: () => blobs(loaded, files, bundles, attachments) },
    tasks: { [Symbol.asyncIterator]: () => tasks(loaded, files, attachments) },
  };
}

async function* blobs(
  loaded: LoadedBatch,
  files: Files,
  bundles: Bundles,
  attachments: Attachments,
): AsyncGenerator<SubmissionBlob> {
  yield* bundles.blobs();
  if (loaded.dataset.whole && !loaded.dataset.attachments) return;
  const sent = new Set<string>();
  for await (const task of fileTasks(loaded, files)) {
    for (const { path } of task.files ?? []) {
      const { sha } = await attachments.of(path);
      if (sent.has(sha)) continue;
      sent.add(sha);
      yield { sha, media: 'application/octet-stream', path };
    }
  }
}

async function* tasks(loaded: LoadedBatch, files: Files, attachments: Attachments): AsyncGenerator<TaskRecord> {
  for await (const task of fileTasks(loaded, files)) {
    const { files: attached, ...rest } = task;
    if (attached === undefined) {
      yield rest;
    } else {
      yield {
        ...rest,
        files: await Promise.all(attached.map(async ({ name, path }) => ({ name, ...(await attachments.of(path)) }))),
      };
    }
  }
}

async function* fileTasks(loaded: LoadedBatch, files: Files): AsyncGenerator<FileTask> {
  const stop = (problem: Problem): never => {
    throw problemsError([problem], loaded.root);
  };
  for await (const { task } of readTasks(files, loaded.dataset.spec, stop)) yield task;
}

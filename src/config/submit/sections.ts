/** Builds the sections of a submission: agents, tools, world, and scorer. */
import { StudioError } from '../../common/errors.ts';
import { DEFAULTS } from '../defaults.ts';
import { withFactTools } from '../facts/tools.ts';
import type { Files } from '../files.ts';
import type { LoadedAgent } from '../load/agent.ts';
import { endpointsOf } from '../load/model.ts';
import { afterOf, worksItself } from '../load/team.ts';
import { mcpName } from '../load/tools.ts';
import {
  codeWorldIn,
  type LoadedCodeWorld,
  type LoadedModuleWorld,
  type LoadedRecordedWorld,
  type LoadedSimulatedWorld,
  type LoadedWorld,
  worldsIn,
} from '../load/world.ts';
import type { LoadedBatch } from '../load.ts';
import { impliedNeeds } from '../needs.ts';
import { dirname, joinPath, relative } from '../paths.ts';
import type { ScorerSection } from '../schema/batchFile.ts';
import { type BuiltinSettings, SETTINGS } from '../schema/builtinSettings.ts';
import type { ModelSection } from '../schema/modelSection.ts';
import type { Pods } from '../schema/podsSection.ts';
import type { ShadowSection } from '../schema/shadowSection.ts';
import type { ToolEntry } from '../schema/toolEntry.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import type {
  AnswerRule,
  Position,
  SubmittedAgent,
  SubmittedCodeWorld,
  SubmittedMember,
  SubmittedModel,
  SubmittedModule,
  SubmittedModuleWorld,
  SubmittedPods,
  SubmittedRecordedWorld,
  SubmittedSandbox,
  SubmittedScorer,
  SubmittedSimulatedWorld,
  SubmittedTools,
  SubmittedWorld,
} from '../submission.ts';
import { CATALOGUE } from '../tools/mcp/catalogue.ts';
import type { Bundles } from './blobs.ts';
import type { RecordingFile } from './recordings.ts';

/** Returns the files of an agent and of all members of its team, each once. */
export function filesOf(agent: LoadedAgent): ParsedFile[] {
  const files = [
    agent,
    ...(agent.team?.members ?? []).flatMap(function below({ agent: member }): LoadedAgent[] {
      return [member, ...(member.team?.members ?? []).flatMap(below)];
    }),
  ];
  return [...new Map(files.map(({ path, parsed }) => [path, parsed])).values()];
}

export async function submittedAgent(
  { file, path, prompt, parsed, team }: LoadedAgent,
  root: string,
  files: Files,
  bundles: Bundles,
): Promise<SubmittedAgent> {
  const [tools, members] = await Promise.all([
    Promise.all(
      file.tools.map((entry, index) => submittedTools(entry, ['tools', index], { path, parsed, root }, files, bundles)),
    ),
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

export function submittedModuleWorld(
  world: LoadedModuleWorld,
  module: SubmittedModule,
  root: string,
): SubmittedModuleWorld {
  const { file, parsed } = world;
  return {
    ...submittedCommon(world, root),
    kind: 'module',
    module,
    ...(file.needs === undefined ? {} : { needs: file.needs, position: placeOf(parsed, ['needs'], root) }),
  };
}

export function submittedCodeWorld(
  world: LoadedCodeWorld,
  scenarios: SubmittedCodeWorld['scenarios'],
  root: string,
  files: Files,
): SubmittedCodeWorld {
  const { file, path, parsed } = world;
  const { expose, verifier, rewards, python, session, clock, tools } = file;
  return {
    ...submittedCommon(world, root),
    kind: 'code',
    format: world.scenarios.format,
    expose,
    verifier,
    rewards,
    ...(python === undefined ? {} : { python: pythonOf(python, path, files) }),
    session,
    ...(clock === undefined ? {} : { clock }),
    ...(tools === undefined ? {} : { tools: tools.filter((name) => typeof name === 'string') }),
    needs: [...impliedNeeds('code', file.needs), ...(file.needs ?? [])],
    position: placeOf(parsed, [file.needs === undefined ? 'kind' : 'needs'], root),
    scenarios,
  };
}

/** Without what is read from elsewhere. */
export function submittedSimulatedWorld(world: LoadedSimulatedWorld, root: string): SubmittedSimulatedWorld {
  const { file, simulation } = world;
  const texts = Object.entries(simulation.texts).map(([part, { text }]) => [part, text] as const);
  return {
    ...submittedCommon(world, root),
    kind: 'simulated',
    domain: file.domain,
    model: submittedModel(file.model),
    ...(file.context === undefined ? {} : { context: file.context }),
    definitions: withFactTools(
      file.facts,
      simulation.tools.flatMap((tools) => ('definitions' in tools ? tools.definitions : [])),
    ),
    texts: Object.fromEntries(texts),
    ...(file.route === undefined ? {} : { route: file.route }),
  };
}

export function submittedRecordedWorld(
  world: LoadedRecordedWorld,
  { calls, blobs, attempts }: RecordingFile,
  root: string,
): SubmittedRecordedWorld {
  const { match, tools } = world.file;
  return {
    ...submittedCommon(world, root),
    kind: 'recorded',
    match,
    calls: calls.sha,
    blobs: blobs.map(({ sha }) => sha),
    attempts: attempts.length,
    ...(tools === undefined ? {} : { tools: tools.filter((name) => typeof name === 'string') }),
  };
}

/** A name is found on the PATH; a path is relative to the world file. */
function pythonOf(written: string, path: string, files: Files): string {
  return /[\\/]/.test(written) && !written.includes('${') ? files.absolute(joinPath(dirname(path), written)) : written;
}

function submittedCommon(
  { file, path, userPrompt }: LoadedWorld,
  root: string,
): Pick<SubmittedWorld, 'name' | 'file' | 'user' | 'models' | 'perturb' | 'shadow'> {
  return {
    name: file.name,
    file: relative(root, path),
    ...(file.user === undefined || userPrompt === undefined
      ? {}
      : { user: { model: submittedModel(file.user.model), prompt: userPrompt.text } }),
    ...submittedModels(file.models),
    perturb: [],
    ...(file.shadow === undefined ? {} : { shadow: submittedShadow(file.shadow, file.models) }),
  };
}

function submittedShadow(
  { when, judge }: ShadowSection,
  models: Readonly<Record<string, ModelSection>> | undefined,
): NonNullable<SubmittedWorld['shadow']> {
  const model = typeof judge === 'string' ? models?.[judge] : judge;
  return {
    ...(when === undefined ? {} : { when }),
    ...(model === undefined ? {} : { judge: submittedModel(model) }),
  };
}

/** Returns the models that users' code may ask. */
function submittedModels(models: Readonly<Record<string, ModelSection>> | undefined): {
  readonly models?: Record<string, SubmittedModel>;
} {
  const named = Object.entries(models ?? {}).map(([name, model]) => [name, submittedModel(model)] as const);
  return named.length === 0 ? {} : { models: Object.fromEntries(named) };
}

export function moduleOf({ path, file }: LoadedModuleWorld): string {
  return joinPath(dirname(path), file.module);
}

function submittedModel(model: ModelSection): SubmittedModel {
  return {
    endpoints: endpointsOf(model),
    name: model.name,
    ...(model.api_key === undefined ? {} : { api_key: model.api_key }),
    headers: model.headers,
    ...(model.session_header === undefined ? {} : { session_header: model.session_header }),
    sampling: submittedSampling(model.sampling),
    capture: model.capture,
    // Absent by default, so that submissions that say nothing about it have the same ID as before.
    ...(model.stream === DEFAULTS.stream ? {} : { stream: model.stream }),
    ...(model.control === DEFAULTS.control ? {} : { control: model.control }),
    ...(model.price === undefined ? {} : { price: model.price }),
    endpoint_wait_seconds: model.endpoint_wait,
  };
}

export function submittedSampling(sampling: ModelSection['sampling']): SubmittedModel['sampling'] {
  return sampling as SubmittedModel['sampling']; // `extra` was parsed from YAML or JSON
}

/** Returns what an entry at `at` of the file of an agent or a world opens. */
export async function submittedTools(
  entry: ToolEntry,
  at: Path,
  owner: { readonly path: string; readonly parsed: ParsedFile; readonly root: string },
  files: Files,
  bundles: Bundles,
): Promise<SubmittedTools[]> {
  const { path, parsed, root } = owner;
  const position = placeOf(parsed, at, root);
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
        ...submittedModels(entry.models),
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

/** Returns the settings of pods, with the place of each sidecar for the errors of the server. */
export function submittedPods({ parsed, root }: LoadedBatch, pods: Pods): SubmittedPods {
  const { sidecars = [] } = pods;
  if (sidecars.length === 0) return pods;
  return { ...pods, sidecar_positions: sidecars.map((_, index) => placeOf(parsed, ['pods', 'sidecars', index], root)) };
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

/** `path`: of the file that has the scorer. */
export async function submittedScorer(
  { path, scorer, rubric }: { readonly path: string; readonly scorer: ScorerSection } & Pick<LoadedBatch, 'rubric'>,
  bundles: Bundles,
): Promise<SubmittedScorer> {
  const { name, seconds, ...own } = scorer;
  // The default is left out, so that the hash of a scorer stays that of earlier versions.
  const common = {
    ...(name === undefined ? {} : { name }),
    ...(seconds === DEFAULTS.scorer.seconds ? {} : { seconds }),
  };
  switch (own.kind) {
    case 'module':
      return {
        ...common,
        kind: 'module',
        module: await bundles.add(joinPath(dirname(path), own.module)),
        export: own.export,
        ...submittedModels(own.models),
      };
    case 'judge':
      return {
        ...common,
        kind: 'judge',
        model: submittedModel(own.model),
        ...(own.subject === 'observation' ? { subject: own.subject } : {}),
        rubric: rubric?.text ?? '',
        pass: own.pass,
        ...(own.parts === undefined ? {} : { parts: marksOf(own.parts) }),
        ...(own.scale === undefined ? {} : { scale: own.scale }),
      };
    default:
      return { ...common, ...own };
  }
}

/** Returns the marks of a judge, each with what it is about; empty if its name says it. */
function marksOf(parts: readonly string[] | Readonly<Record<string, string>>): Record<string, string> {
  return isList(parts) ? Object.fromEntries(parts.map((part) => [part, ''])) : { ...parts };
}

function isList(parts: readonly string[] | Readonly<Record<string, string>>): parts is readonly string[] {
  return Array.isArray(parts);
}

/** Hides the dataset, published worlds, and facts from programs: these files have the answers, and the verifiers. */
export function submittedSandbox(
  { path, file: { sandbox }, dataset, world }: LoadedBatch,
  files: Files,
): SubmittedSandbox {
  const { mode, network, allow, read, write, modules } =
    typeof sandbox === 'object' ? sandbox : { ...DEFAULTS.sandbox, mode: sandbox, allow: [], read: [], write: [] };
  const absolute = (paths: readonly string[]): string[] =>
    paths.map((written) => files.absolute(joinPath(dirname(path), written)));
  const code = codeWorldIn(world);
  const facts = worldsIn(world).flatMap(({ file, path: from }) =>
    file.facts === undefined ? [] : [joinPath(dirname(from), file.facts.database)],
  );
  const hide = [dataset.spec.path, ...(code === undefined ? [] : [code.scenarios.folder]), ...facts];
  return { mode, network, allow, read: absolute(read), write: absolute(write), hide, modules };
}

import { impliedNeeds } from '../needs.ts';
import { codeWorldKeys } from '../schema/codeWorld.ts';
import type { ModelSection } from '../schema/modelSection.ts';
import { simulatedWorldKeys } from '../schema/simulatedWorld.ts';
import { WORLD_KINDS, type WorldFile, worldFile } from '../schema/worldFile.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import type { DatasetLook } from './dataset.ts';
import { checkModel, checkModels } from './model.ts';
import { checkRules } from './perturb.ts';
import { checkPlaceholders } from './placeholders.ts';
import type { Mention, PromptText, Reading } from './reading.ts';
import { checkScenario, readScenarios, type Scenarios } from './scenarios.ts';
import { readSimulation, type Simulation } from './simulated.ts';
import { MODULE_ENDINGS } from './tools.ts';

interface LoadedFile {
  readonly path: string;
  readonly parsed: ParsedFile;
  readonly file: WorldFile;
  readonly userPrompt?: PromptText;
}

export interface LoadedModuleWorld extends LoadedFile {
  readonly kind: 'module';
  readonly file: WorldFile & { readonly module: string };
}

export interface LoadedCodeWorld extends LoadedFile {
  readonly kind: 'code';
  readonly scenarios: Scenarios;
}

export interface LoadedSimulatedWorld extends LoadedFile {
  readonly kind: 'simulated';
  readonly file: WorldFile & { readonly model: ModelSection };
  readonly simulation: Simulation;
}

export type LoadedWorld = LoadedModuleWorld | LoadedCodeWorld | LoadedSimulatedWorld;

export interface WorldParts {
  readonly parsed: ParsedFile;
  readonly name: string;
  readonly kind: LoadedWorld['kind'];
  /** Programs that the world starts, and what says so. */
  readonly needs: readonly { readonly name: string; readonly at: Path }[];
  readonly userPrompt: PromptText | undefined;
  /** Of a simulated world, if what it names can be read. */
  readonly simulation: Simulation | undefined;
  /** Whether the world has a simulated user. */
  readonly hasUser: boolean;
  /** Of a code world, if its files can be read. */
  readonly scenarios: Scenarios | undefined;
  /** The scenario of tasks that name none. */
  readonly scenario: string | undefined;
  /** IDs of tasks that batches leave out. */
  readonly setAside: readonly string[];
  /** Undefined if the file has errors. */
  readonly world: LoadedWorld | undefined;
}

/** Kinds of worlds that can run. */
type RunnableKind = LoadedWorld['kind'];
const KIND_KEYS: Readonly<Record<RunnableKind, readonly string[]>> = {
  module: ['module'],
  code: [...Object.keys(codeWorldKeys), 'tools'],
  simulated: [...Object.keys(simulatedWorldKeys), 'tools'],
};

export async function readWorld(reading: Reading, path: string, by?: Mention): Promise<WorldParts | undefined> {
  const parsed = await reading.parse(path, by);
  if (parsed === undefined) return undefined;
  const later = laterKind(parsed.value);
  if (later !== undefined) {
    // The keys of such a world are unknown, so nothing else in the file can be checked.
    reading.report(parsed, ['kind'], {
      code: 'not_yet',
      message: `worlds of kind \`${later}\` are not available yet`,
      hint: 'Use `kind: module` with a TypeScript or JavaScript module.',
    });
    return undefined;
  }
  const { value, complete } = reading.check(parsed, worldFile);
  await checkRules(reading, parsed, value.perturb ?? []);
  const kind = value.kind === 'code' || value.kind === 'simulated' ? value.kind : 'module';
  if (value.kind !== undefined) checkKeys(reading, parsed, kind);
  const scenarios = kind === 'code' ? await readScenarios(reading, parsed, value) : undefined;
  if (scenarios !== undefined && value.scenario !== undefined)
    checkScenario(scenarios, value.scenario, (problem) => reading.report(parsed, ['scenario'], problem));
  if (kind === 'code') checkToolNames(reading, parsed, value.tools);
  const simulation = kind === 'simulated' ? await readSimulation(reading, parsed, value) : undefined;
  const isModule = kind === 'module' && (await locateModule(reading, parsed, value));
  checkModels(reading, parsed, ['models'], value.models);
  let userPrompt: PromptText | undefined;
  if (value.user !== undefined) {
    checkModel(reading, parsed, ['user', 'model'], value.user.model);
    userPrompt = await reading.prompt(parsed, ['user', 'prompt'], value.user.prompt);
  }
  let world: LoadedWorld | undefined;
  if (complete !== undefined && (complete.user === undefined || userPrompt !== undefined)) {
    const loaded = { path, parsed, ...(userPrompt === undefined ? {} : { userPrompt }) };
    const { module, model } = complete;
    if (isModule && module !== undefined) world = { ...loaded, kind: 'module', file: { ...complete, module } };
    else if (simulation !== undefined && model !== undefined)
      world = { ...loaded, kind: 'simulated', file: { ...complete, model }, simulation };
    else if (scenarios !== undefined) world = { ...loaded, kind: 'code', file: complete, scenarios };
  }
  return {
    parsed,
    name: value.name ?? '',
    kind,
    needs: [
      ...impliedNeeds(kind, value.needs).map((need) => ({ name: need, at: ['kind'] })),
      ...(value.needs ?? []).map((need, index) => ({ name: need, at: ['needs', index] })),
    ],
    userPrompt,
    simulation,
    hasUser: value.user !== undefined,
    scenarios,
    scenario: value.scenario,
    setAside: value.set_aside ?? [],
    world,
  };
}

/** Checks the placeholders in the texts of a world against the first tasks. */
export function checkWorldTexts(
  reading: Reading,
  { parsed, userPrompt, simulation }: WorldParts,
  tasks: DatasetLook['head'],
): void {
  // The side models may know the answer: the agent does not see what they get.
  const check = (at: Path, text: PromptText): void =>
    checkPlaceholders(reading, parsed, at, text, tasks, { mayKnowAnswer: true });
  if (userPrompt !== undefined) check(['user', 'prompt'], userPrompt);
  for (const [part, text] of Object.entries(simulation?.texts ?? {})) check([part], text);
}

/** Reports keys that only worlds of other kinds have. */
function checkKeys(reading: Reading, parsed: ParsedFile, kind: RunnableKind): void {
  const reported = new Set(KIND_KEYS[kind]);
  for (const other of Object.keys(KIND_KEYS) as RunnableKind[])
    for (const key of KIND_KEYS[other]) {
      if (reported.has(key) || !parsed.has([key])) continue;
      reported.add(key);
      reading.report(
        parsed,
        [key],
        {
          code: 'conflict',
          message: `a world of kind \`${kind}\` has no \`${key}\``,
          hint: `Remove it, or write \`kind: ${other}\`.`,
        },
        'key',
      );
    }
}

/** Reports files with definitions in a world whose own tools exist. */
function checkToolNames(reading: Reading, parsed: ParsedFile, tools: WorldFile['tools'] = []): void {
  for (const [index, entry] of tools.entries())
    if (typeof entry !== 'string')
      reading.report(parsed, ['tools', index], {
        code: 'value',
        message: 'a world of kind `code` has its own tools',
        hint: 'Write the name of one of them.',
      });
}

/** Returns whether the world names a module that exists. */
async function locateModule(reading: Reading, parsed: ParsedFile, { module }: Partial<WorldFile>): Promise<boolean> {
  if (module !== undefined) return (await reading.locate(parsed, ['module'], module, MODULE_ENDINGS)) !== undefined;
  if (!parsed.has(['module']))
    reading.report(parsed, [], {
      code: 'missing',
      message: '`module` is missing',
      hint: 'Add `module: library.ts`, where the module exports `open`.',
      fixes: [{ do: 'insert', path: [], key: 'module', value: 'library.ts' }],
    });
  return false;
}

function laterKind(value: unknown): string | undefined {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  return WORLD_KINDS.find((candidate) => candidate === kind && !Object.hasOwn(KIND_KEYS, candidate));
}

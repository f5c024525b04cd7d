import { impliedNeeds } from '../needs.ts';
import { basename } from '../paths.ts';
import { codeWorldKeys } from '../schema/codeWorld.ts';
import type { ModelSection } from '../schema/modelSection.ts';
import { NESTED_WORLDS, type NestedWorldKey } from '../schema/nestedWorld.ts';
import { recordedWorldKeys } from '../schema/recordedWorld.ts';
import { simulatedWorldKeys } from '../schema/simulatedWorld.ts';
import type { ToolEntry } from '../schema/toolEntry.ts';
import { type WorldFile, worldFile } from '../schema/worldFile.ts';
import type { ParsedFile, Path } from '../source/parse.ts';
import type { DatasetLook } from './dataset.ts';
import { checkModel, checkModels } from './model.ts';
import { checkRules } from './perturb.ts';
import { checkPlaceholders } from './placeholders.ts';
import type { Mention, PromptText, Reading } from './reading.ts';
import { type RecordingSource, readSources } from './recorded.ts';
import { checkScenario, readScenarios, type Scenarios } from './scenarios.ts';
import { checkPredictingWorld, checkShadow } from './shadow.ts';
import { readSimulation, type Simulation } from './simulated.ts';
import { MODULE_ENDINGS } from './tools.ts';

interface LoadedFile {
  readonly path: string;
  readonly parsed: ParsedFile;
  readonly file: WorldFile;
  readonly userPrompt?: PromptText;
  /** Worlds that it contains. */
  readonly worlds: Readonly<Partial<Record<NestedWorldKey, LoadedWorld>>>;
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

export interface LoadedRecordedWorld extends LoadedFile {
  readonly kind: 'recorded';
  readonly sources: readonly RecordingSource[];
}

export type LoadedWorld = LoadedModuleWorld | LoadedCodeWorld | LoadedSimulatedWorld | LoadedRecordedWorld;

/** Returns a world and all that it contains, each before those in it. None for a batch without a world. */
export function worldsIn(world: LoadedWorld | undefined): LoadedWorld[] {
  return world === undefined ? [] : [world, ...Object.values(world.worlds).flatMap(worldsIn)];
}

/** Returns the code world among a world and those that it contains, of which there is at most one. */
export function codeWorldIn(world: LoadedWorld | undefined): LoadedCodeWorld | undefined {
  return worldsIn(world).find((each) => each.kind === 'code');
}

export interface WorldParts {
  readonly parsed: ParsedFile;
  readonly name: string;
  readonly kind: LoadedWorld['kind'];
  /** Programs that the world starts, and what says so. */
  readonly needs: readonly { readonly name: string; readonly at: Path }[];
  readonly userPrompt: PromptText | undefined;
  /** Of a simulated world, if what it names can be read. */
  readonly simulation: Simulation | undefined;
  /** Entries of its real tools, if a model simulates others. */
  readonly realTools: readonly ToolEntry[];
  /** Whether the world has a simulated user. */
  readonly hasUser: boolean;
  /** Of a code world, if its files can be read. */
  readonly scenarios: Scenarios | undefined;
  /** The scenario of tasks that name none. */
  readonly scenario: string | undefined;
  /** IDs of tasks that batches leave out. */
  readonly setAside: readonly string[];
  /** The worlds that it names, as far as they can be read. */
  readonly nested: readonly WorldParts[];
  /** Undefined if the file, or that of a world that it names, has errors. */
  readonly world: LoadedWorld | undefined;
}

/** Returns the parts of a world and of all that it contains. */
export function partsIn(world: WorldParts | undefined): WorldParts[] {
  return world === undefined ? [] : [world, ...world.nested.flatMap(partsIn)];
}

type WorldKind = LoadedWorld['kind'];
const KIND_KEYS: Readonly<Record<WorldKind, readonly string[]>> = {
  module: ['module'],
  code: ['from', ...Object.keys(codeWorldKeys), 'tools'],
  simulated: [...Object.keys(simulatedWorldKeys), 'tools'],
  recorded: ['from', ...Object.keys(recordedWorldKeys), 'tools'],
};

/** `above`: the files of the worlds that contain it, the outermost first. */
export async function readWorld(
  reading: Reading,
  path: string,
  by?: Mention,
  above: readonly string[] = [],
): Promise<WorldParts | undefined> {
  const parsed = await reading.parse(path, by);
  if (parsed === undefined) return undefined;
  const { value, complete } = reading.check(parsed, worldFile);
  await checkRules(reading, parsed, value.perturb ?? [], value.kind === 'simulated');
  const kind = value.kind ?? 'module';
  if (value.kind !== undefined) checkKeys(reading, parsed, kind);
  const scenarios = kind === 'code' ? await readScenarios(reading, parsed, value) : undefined;
  if (scenarios !== undefined && value.scenario !== undefined)
    checkScenario(scenarios, value.scenario, (problem) => reading.report(parsed, ['scenario'], problem));
  if (kind === 'code') checkToolNames(reading, parsed, value.tools);
  const simulation = kind === 'simulated' ? await readSimulation(reading, parsed, value) : undefined;
  const sources = kind === 'recorded' ? await readSources(reading, parsed, value) : undefined;
  const isModule = kind === 'module' && (await locateModule(reading, parsed, value));
  checkModels(reading, parsed, ['models'], value.models);
  let userPrompt: PromptText | undefined;
  if (value.user !== undefined) {
    checkModel(reading, parsed, ['user', 'model'], value.user.model);
    userPrompt = await reading.prompt(parsed, ['user', 'prompt'], value.user.prompt);
  }
  if (value.shadow !== undefined) checkShadow(reading, parsed, value.shadow, value.models);
  const nested = await readNested(reading, parsed, namedWorlds(kind, value, above), [...above, path]);
  for (const key of ['shadow', 'lookahead'] as const)
    checkPredictingWorld(reading, parsed, [key, 'world'], nested.worlds?.[key]);
  if (nested.worlds?.real?.kind === 'simulated')
    reading.report(parsed, ['real', 'world'], {
      code: 'conflict',
      message: `the real world, ${nested.worlds.real.file.name}, is simulated itself`,
      hint: 'Name a world whose tools exist.',
    });
  const { otherwise } = nested.worlds ?? {};
  if (otherwise !== undefined && otherwise.kind !== 'simulated' && otherwise.kind !== 'recorded')
    reading.report(parsed, ['otherwise', 'world'], {
      code: 'conflict',
      message: `${otherwise.file.name} does not know the calls that the recording has answered`,
      hint: 'Name a world of kind `simulated`.',
    });
  const hidden = nested.worlds?.real;
  if (hidden?.kind === 'code' && hidden.file.expose === 'meta')
    reading.report(parsed, ['real', 'world'], {
      code: 'conflict',
      message: `${hidden.file.name} hides its tools behind two others (\`expose: meta\`)`,
      hint: 'Use `expose: tools` there: the model needs the definitions of the tools that it simulates.',
    });
  let world: LoadedWorld | undefined;
  if (complete !== undefined && nested.worlds !== undefined && (value.user === undefined || userPrompt !== undefined)) {
    const loaded = { path, parsed, worlds: nested.worlds, ...(userPrompt === undefined ? {} : { userPrompt }) };
    const { module, model } = complete;
    if (isModule && module !== undefined) world = { ...loaded, kind: 'module', file: { ...complete, module } };
    else if (simulation !== undefined && model !== undefined)
      world = { ...loaded, kind: 'simulated', file: { ...complete, model }, simulation };
    else if (sources !== undefined) world = { ...loaded, kind: 'recorded', file: complete, sources };
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
    realTools: (kind === 'simulated' ? value.real?.tools : undefined) ?? [],
    hasUser: value.user !== undefined,
    scenarios,
    scenario: value.scenario,
    setAside: value.set_aside ?? [],
    nested: nested.parts,
    world,
  };
}

/** Returns the paths of other worlds in a file, as written. */
function namedWorlds(
  kind: WorldKind,
  { real, otherwise, shadow, lookahead }: Partial<WorldFile>,
  above: readonly string[],
): Record<NestedWorldKey, string | undefined> {
  return {
    real: kind === 'simulated' ? real?.world : undefined,
    otherwise: kind === 'recorded' && typeof otherwise === 'object' ? otherwise.world : undefined,
    // Those of a world inside another one do not apply.
    shadow: above.length === 0 ? shadow?.world : undefined,
    lookahead: above.length === 0 ? lookahead?.world : undefined,
  };
}

/** Reads the worlds that a file names. `worlds`: undefined if one of them has errors. */
async function readNested(
  reading: Reading,
  parsed: ParsedFile,
  named: Readonly<Record<NestedWorldKey, string | undefined>>,
  above: readonly string[],
): Promise<{ readonly parts: readonly WorldParts[]; readonly worlds: LoadedWorld['worlds'] | undefined }> {
  const parts: WorldParts[] = [];
  const worlds: Partial<Record<NestedWorldKey, LoadedWorld>> = {};
  let complete = true;
  for (const key of NESTED_WORLDS) {
    const written = named[key];
    if (written === undefined) continue;
    const by: Mention = { parsed, at: [key, 'world'] };
    const path = await reading.locate(parsed, by.at, written);
    const read =
      path === undefined || isCycle(reading, by, path, above) ? undefined : await readWorld(reading, path, by, above);
    if (read !== undefined) {
      parts.push(read);
      checkNested(reading, by, read);
    }
    if (read?.world === undefined) complete = false;
    else worlds[key] = read.world;
  }
  const [first, second] = parts.flatMap(partsIn).filter(({ kind }) => kind === 'code');
  if (first !== undefined && second !== undefined)
    reading.report(parsed, [], {
      code: 'conflict',
      message: `the worlds ${first.name} and ${second.name} are both of kind \`code\``,
      hint: 'Use one of them: a task names the scenario of one world.',
    });
  return { parts, worlds: complete ? worlds : undefined };
}

/** Reports a world that would contain itself. */
function isCycle(reading: Reading, { parsed, at }: Mention, path: string, above: readonly string[]): boolean {
  const from = above.indexOf(path);
  if (from === -1) return false;
  const chain = [...above.slice(from), path].map(basename).join(' → ');
  reading.report(parsed, at, {
    code: 'conflict',
    message: `the world contains itself: ${chain}`,
    hint: 'Name another world file.',
  });
  return true;
}

/** Reports what of a world does not apply where another one contains it. */
function checkNested(reading: Reading, { parsed, at }: Mention, nested: WorldParts): void {
  const file = basename(nested.parsed.file);
  for (const [own, what] of [
    ['perturb', 'rules'],
    ['user', 'simulated user'],
    ['shadow', 'shadow'],
    ['lookahead', 'look-ahead'],
  ] as const)
    if (nested.parsed.has([own]))
      reading.report(parsed, at, {
        code: 'conflict',
        severity: 'warning',
        message: `the ${what} (\`${own}\`) of ${file} do${own === 'perturb' ? '' : 'es'} not apply here`,
        hint: `Add \`${own}\` to this file if you need ${own === 'perturb' ? 'them' : 'one'}.`,
      });
}

/** Checks the placeholders in the texts of a world, and of those that it contains, against the first tasks. */
export function checkWorldTexts(reading: Reading, world: WorldParts, tasks: DatasetLook['head']): void {
  for (const { parsed, userPrompt, simulation, world: loaded } of partsIn(world)) {
    // The side models may know the answer: the agent does not see what they get.
    const check = (at: Path, text: PromptText): void =>
      checkPlaceholders(reading, parsed, at, text, tasks, { mayKnowAnswer: true });
    if (userPrompt !== undefined) check(['user', 'prompt'], userPrompt);
    for (const [part, text] of Object.entries(simulation?.texts ?? {})) check([part], text);
    const truth = loaded?.file.facts?.truth;
    if (truth !== undefined) check(['facts', 'truth'], { text: truth });
    for (const [index, { say }] of (loaded?.file.perturb ?? []).entries())
      if (say !== undefined) check(['perturb', index, 'say'], { text: say });
  }
}

/** Reports keys that only worlds of other kinds have. */
function checkKeys(reading: Reading, parsed: ParsedFile, kind: WorldKind): void {
  const reported = new Set(KIND_KEYS[kind]);
  for (const other of Object.keys(KIND_KEYS) as WorldKind[])
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

/** Finds the occurrences of an export: in code, prompts, and files that reference tools. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { MODULE_ENDINGS } from '../../config/load/tools.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import type { Path } from '../../config/source/parse.ts';
import { moduleToolsOf, referencedFiles, referencingFiles, worldsUnder } from '../workspace/relations.ts';
import { Lines } from '../workspace/text.ts';
import type { Workspace } from '../workspace.ts';
import { namesInImporter, namesInModule, reExports, type Span } from './codeNames.ts';
import type { Place } from './place.ts';
import type { StudioSymbol } from './symbol.ts';
import { nameRange, toolWords } from './words.ts';

type Export = Extract<StudioSymbol, { kind: 'export' }>;

/** Larger modules are probably generated and are skipped. */
const MAX_BYTES = 300_000;
/** Maximum number of code files to search. */
const MAX_FILES = 3000;
const EXCLUDED = /^(\.|node_modules\/|dist\/|out\/|build\/)/;

export async function exportPlaces(workspace: Workspace, symbol: Export): Promise<Place[]> {
  const [code, mentions] = await Promise.all([placesInCode(workspace, symbol), placesInConfig(workspace, symbol)]);
  return [...code, ...mentions];
}

/** Finds the occurrences in one module. */
export async function codePlaces(workspace: Workspace, { module, name }: Export, file: string): Promise<Span[]> {
  const text = await workspace.text(file);
  if (text === undefined || !text.includes(name)) return [];
  if (file === module) return namesInModule(text, name);
  const exporters = await exportersOf(workspace, { kind: 'export', module, name });
  return namesInImporter(text, name, (specifier) => resolvesTo(file, specifier, exporters));
}

async function placesInCode(workspace: Workspace, symbol: Export): Promise<Place[]> {
  const exporters = await exportersOf(workspace, symbol);
  const found: Place[] = [];
  for (const file of await codeFiles(workspace, symbol.module)) {
    const text = await workspace.text(file);
    if (text?.includes(symbol.name) !== true) continue;
    const spans =
      file === symbol.module
        ? namesInModule(text, symbol.name)
        : namesInImporter(text, symbol.name, (specifier) => resolvesTo(file, specifier, exporters));
    const lines = new Lines(text);
    spans.forEach(({ start, end }, index) =>
      found.push({
        file,
        range: lines.range(start, end - start),
        role: file === symbol.module && index === 0 ? 'definition' : 'use',
      }),
    );
  }
  return found;
}

/** Returns the module and those that re-export its exports. */
async function exportersOf(workspace: Workspace, { module, name }: Export): Promise<Set<string>> {
  const exporters = new Set([module]);
  const files = await codeFiles(workspace, module);
  for (let before = 0; before < exporters.size; ) {
    before = exporters.size;
    for (const file of files) {
      if (exporters.has(file)) continue;
      const text = await workspace.text(file);
      if (
        text?.includes('export') === true &&
        reExports(text, name, (specifier) => resolvesTo(file, specifier, exporters))
      )
        exporters.add(file);
    }
  }
  return exporters;
}

/**
 * Returns whether an import specifier resolves to one of the modules. The extension can be missing, or that of the
 * compiled file.
 */
export function resolvesTo(file: string, specifier: string, exporters: ReadonlySet<string>): boolean {
  if (!specifier.startsWith('.')) return false;
  const target = withoutExtension(joinPath(dirname(file), specifier));
  return [...exporters].some((exporter) => [target, `${target}/index`].includes(withoutExtension(exporter)));
}

function withoutExtension(path: string): string {
  return path.replace(/\.[cm]?[jt]sx?$/, '');
}

/** Lists the code files of the workspace, or of the module's folder if there is no workspace. */
export async function codeFiles(workspace: Workspace, module: string): Promise<string[]> {
  const found = new Set([module]);
  const folders = workspace.folders.length === 0 ? [dirname(module)] : [...workspace.folders];
  for (const folder of folders) {
    for (const name of await workspace.files.list(folder)) {
      const path = joinPath(folder, name);
      if (EXCLUDED.test(name) || found.size >= MAX_FILES) continue;
      if (name.endsWith('/')) folders.push(path);
      else if (
        MODULE_ENDINGS.some((ending) => name.endsWith(ending)) &&
        ((await workspace.files.stat(path))?.bytes ?? 0) <= MAX_BYTES
      )
        found.add(path);
    }
  }
  return [...found];
}

/** Finds the occurrences in config files and prompts of agents that have the tool, and in batches of a scorer. */
async function placesInConfig(workspace: Workspace, { module, name }: Export): Promise<Place[]> {
  const found: Place[] = [];
  const addReferences = async (file: string, kind: 'tool' | 'export'): Promise<void> => {
    const lines = await workspace.lines(file);
    for (const reference of await workspace.references(file)) {
      if (
        lines === undefined ||
        reference.kind !== kind ||
        reference.text !== name ||
        (kind === 'export' && reference.file !== module)
      )
        continue;
      const range = nameRange(lines, reference.range, name);
      if (range !== undefined) found.push({ file, range, role: 'use' });
    }
  };
  const prompts = new Set<string>();
  const worlds = new Set<string>();
  for (const file of await workspace.configFiles()) {
    const kind = fileKind(file);
    if (kind === 'batch') await addReferences(file, 'export');
    if (
      kind !== 'agent' ||
      !(await moduleToolsOf(workspace, file)).some((tool) => tool.name === name && tool.place.path === module)
    )
      continue;
    await addReferences(file, 'tool');
    found.push(...(await placesInValue(workspace, file, ['prompt'], (text) => toolWords(text, name))));
    for (const prompt of await referencedFiles(workspace, file, 'prompt')) prompts.add(prompt);
    for (const batch of await referencingFiles(workspace, file, 'batch'))
      for (const world of await worldsUnder(workspace, batch)) worlds.add(world);
  }
  for (const prompt of prompts) {
    const lines = await workspace.lines(prompt);
    if (lines !== undefined)
      found.push(
        ...toolWords(lines.text, name).map(
          ({ start, end }): Place => ({ file: prompt, range: lines.range(start, end - start), role: 'use' }),
        ),
      );
  }
  for (const world of worlds) {
    await addReferences(world, 'tool');
    found.push(...(await placesInConditions(workspace, world, name)));
  }
  return found;
}

/** Finds `tool.name == "NAME"` in the rules and the shadow of a world. */
async function placesInConditions(workspace: Workspace, world: string, name: string): Promise<Place[]> {
  const value = (await workspace.parsed(world))?.value;
  const rules = isJsonObject(value) && Array.isArray(value['perturb']) ? value['perturb'] : [];
  const conditions: Path[] = [
    ...rules.flatMap((_, index): Path[] => ['when', 'check'].map((key) => ['perturb', index, key])),
    ['shadow', 'when'],
  ];
  const found = conditions.map((at) => placesInValue(workspace, world, at, (text) => toolWords(text, name)));
  return (await Promise.all(found)).flat();
}

/** Finds the occurrences in a value of a config file. */
async function placesInValue(
  workspace: Workspace,
  file: string,
  path: Path,
  find: (text: string) => readonly Span[],
): Promise<Place[]> {
  const parsed = await workspace.parsed(file);
  const whole = parsed?.has(path) === true ? parsed.wholeRange(path) : undefined;
  const lines = await workspace.lines(file);
  if (whole === undefined || lines === undefined) return [];
  const start = lines.offsetAt({ line: whole.line - 1, character: whole.column - 1 });
  return find(lines.slice(whole)).map(
    (span): Place => ({ file, range: lines.range(start + span.start, span.end - span.start), role: 'use' }),
  );
}

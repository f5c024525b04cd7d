/** Finds the tools of a world, from the texts of files alone: nothing is opened, and no recording is read. */
import { isJsonObject, type Json } from '../../common/json.ts';
import { FACT_TOOLS } from '../facts/tools.ts';
import { dirname, joinPath } from '../paths.ts';
import { ANSWERING_WORLDS } from '../schema/nestedWorld.ts';
import { BUILTINS } from '../schema/toolEntry.ts';
import { type ParsedFile, type Path, parseFile } from '../source/parse.ts';
import { BUILTIN_TOOLS } from './builtinTools.ts';
import { definitionItems } from './definitionFile.ts';
import { moduleTools, type ReadText } from './toolModules.ts';

export interface WorldTool {
  readonly name: string;
  readonly description: string | undefined;
  /** 1-based start of what defines it. */
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** What a world takes tools from. */
export interface WorldToolSource {
  /** Its place in the world file. */
  readonly at: Path;
  /** Undefined if nobody knows them before a batch is submitted, or the file is missing. */
  readonly tools: readonly WorldTool[] | undefined;
  /** Whether code decides what the tools are when it runs: then there may be others. */
  readonly fromCode: boolean;
}

interface WorldTools {
  readonly parsed: ParsedFile;
  readonly sources: readonly WorldToolSource[];
}

/** Returns the sources of a world's tools in the order of the file. None for a code world. */
export async function worldToolSources(
  path: string,
  text: string,
  readText: ReadText,
  above: readonly string[] = [],
): Promise<WorldTools> {
  const parsed = parseFile(path, text);
  const file = isJsonObject(parsed.value) ? parsed.value : {};
  const sources: Promise<WorldToolSource>[] = [];
  const add = (at: Path, tools: Promise<readonly WorldTool[] | undefined>, fromCode = false): void => {
    sources.push(tools.then((found) => ({ at, tools: found, fromCode })));
  };
  const { kind, module, tools } = file;
  if (typeof module === 'string')
    add(['module'], moduleTools(joinPath(dirname(path), module), 'reached', readText), true);
  const addEntries = (list: Path, entries: Json | undefined): void => {
    if (Array.isArray(entries))
      entries.forEach((entry: Json, index) => {
        const at = [...list, index];
        add(at, entryTools(parsed, at, entry, readText), isJsonObject(entry) && entry['module'] !== undefined);
      });
  };
  if (kind === 'simulated') {
    addEntries(['tools'], tools);
    if (isJsonObject(file['facts'])) add(['facts'], Promise.resolve(namedTools(parsed, ['facts'], FACT_TOOLS)));
    addEntries(['real', 'tools'], isJsonObject(file['real']) ? file['real']['tools'] : undefined);
  }
  if (kind === 'recorded' && Array.isArray(tools))
    add(['tools'], Promise.resolve(namedTools(parsed, ['tools'], tools)));
  for (const key of ANSWERING_WORLDS) {
    const nested = file[key];
    const world = isJsonObject(nested) ? nested['world'] : undefined;
    if (typeof world !== 'string') continue;
    const inner = nestedTools(joinPath(dirname(path), world), readText, [...above, path]);
    sources.push(inner.then((found) => ({ at: [key, 'world'], ...found })));
  }
  return { parsed, sources: await Promise.all(sources) };
}

/** Returns the tools of all sources, each once, and whether these are all. */
export function toolsOfSources(sources: readonly WorldToolSource[]): {
  readonly tools: readonly WorldTool[];
  readonly complete: boolean;
} {
  const found = new Map<string, WorldTool>();
  for (const tool of sources.flatMap(({ tools }) => tools ?? [])) if (!found.has(tool.name)) found.set(tool.name, tool);
  return {
    tools: [...found.values()],
    complete: sources.length > 0 && sources.every(({ tools }) => tools !== undefined),
  };
}

async function nestedTools(
  path: string,
  readText: ReadText,
  above: readonly string[],
): Promise<Pick<WorldToolSource, 'tools' | 'fromCode'>> {
  const text = above.includes(path) ? undefined : await readText(path);
  if (text === undefined) return { tools: undefined, fromCode: false };
  const { sources } = await worldToolSources(path, text, readText, above);
  const { tools, complete } = toolsOfSources(sources);
  return { tools: complete ? tools : undefined, fromCode: sources.some(({ fromCode }) => fromCode) };
}

async function entryTools(
  parsed: ParsedFile,
  at: Path,
  entry: Json,
  readText: ReadText,
): Promise<readonly WorldTool[] | undefined> {
  if (!isJsonObject(entry)) return undefined;
  const { file, module, builtin, tools } = entry;
  const beside = (written: string): string => joinPath(dirname(parsed.file), written);
  if (typeof file === 'string') return definedTools(beside(file), readText);
  if (typeof module === 'string') return moduleTools(beside(module), 'exported', readText);
  if (Array.isArray(builtin)) {
    const sets = BUILTINS.filter((name) => builtin.includes(name));
    return namedTools(
      parsed,
      at,
      sets.flatMap((set) => BUILTIN_TOOLS[set]),
    );
  }
  return Array.isArray(tools) ? namedTools(parsed, at, tools) : undefined;
}

/** Returns tools of which the world file has only the names. */
function namedTools(parsed: ParsedFile, at: Path, names: readonly unknown[]): WorldTool[] {
  const { line, column } = parsed.valueRange(at);
  return names.flatMap((name) =>
    typeof name === 'string' ? [{ name, description: undefined, path: parsed.file, line, column }] : [],
  );
}

async function definedTools(path: string, readText: ReadText): Promise<WorldTool[] | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  const parsed = parseFile(path, text);
  const items = definitionItems((parsed.value ?? null) as Json); // parsed from JSON or YAML
  return items.flatMap(({ at, definition }) => {
    if (definition === undefined) return [];
    const { line, column } = parsed.valueRange(at);
    const { name, description } = definition;
    return [{ name, description: description === '' ? undefined : description, path, line, column }];
  });
}

/**
 * Finds what agent and world files take tools from, with the tools, from source text alone: for lenses in the editor.
 */
import { isJsonObject } from '../../common/json.ts';
import { dirname, joinPath } from '../paths.ts';
import { BUILTINS } from '../schema/toolEntry.ts';
import { type ParsedFile, parseFile } from '../source/parse.ts';
import { BUILTIN_TOOLS } from './builtinTools.ts';
import { moduleTools, type ReadText } from './toolModules.ts';
import { worldToolSources } from './worldTools.ts';

export interface ToolEntryInFile {
  /** Start of the entry, 1-based. */
  readonly line: number;
  readonly column: number;
  readonly endColumn: number;
  /** Names of its tools; undefined for an MCP server without a list of tools. */
  readonly names: readonly string[] | undefined;
}

/** Returns each entry of `tools:` in an agent file. */
export async function agentToolEntries(path: string, text: string, readText: ReadText): Promise<ToolEntryInFile[]> {
  const parsed = parseFile(path, text);
  const entries = isJsonObject(parsed.value) ? parsed.value['tools'] : undefined;
  if (!Array.isArray(entries)) return [];
  return Promise.all(
    entries.map(async (entry: unknown, index) => ({
      ...rangeOf(parsed, ['tools', index]),
      names: await namesOf(entry, path, readText),
    })),
  );
}

/** Returns the module of a world file, its tool entries, and the worlds that answer for it, with their tools. */
export async function worldToolEntries(path: string, text: string, readText: ReadText): Promise<ToolEntryInFile[]> {
  const { parsed, sources } = await worldToolSources(path, text, readText);
  return sources.map(({ at, tools }) => ({
    ...rangeOf(parsed, at),
    names: at[0] === 'module' ? (tools ?? []).map(({ name }) => name) : tools?.map(({ name }) => name),
  }));
}

function rangeOf(parsed: ParsedFile, at: readonly (string | number)[]): Omit<ToolEntryInFile, 'names'> {
  const { line, column, endLine, endColumn } = parsed.valueRange(at);
  return { line, column, endColumn: endLine === line ? endColumn : column };
}

async function namesOf(entry: unknown, agent: string, readText: ReadText): Promise<readonly string[] | undefined> {
  if (!isJsonObject(entry)) return [];
  if (typeof entry['module'] === 'string')
    return ((await moduleTools(joinPath(dirname(agent), entry['module']), 'exported', readText)) ?? []).map(
      ({ name }) => name,
    );
  if (Array.isArray(entry['builtin']))
    return BUILTINS.filter((name) => texts(entry['builtin']).includes(name)).flatMap((name) => BUILTIN_TOOLS[name]);
  if (!isJsonObject(entry['mcp'])) return [];
  return Array.isArray(entry['tools']) ? texts(entry['tools']) : undefined;
}

function texts(values: unknown): string[] {
  return !Array.isArray(values) ? [] : values.filter((value): value is string => typeof value === 'string');
}

/** Finds the tools of an agent or world, with the locations of their definitions if known. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject, type Json, type JsonObject } from '../../common/json.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import { BUILTIN_TOOLS } from '../../config/tools/builtinTools.ts';
import { definitionItems } from '../../config/tools/definitionFile.ts';
import { CATALOGUE, CATALOGUE_NAMES } from '../../config/tools/mcp/catalogue.ts';
import { moduleTools } from '../../config/tools/toolModules.ts';
import type { Workspace } from '../workspace.ts';
import type { McpServerRef, ToolInfo } from './facts.ts';

export interface ToolOfFile extends ToolInfo {
  readonly from: 'module' | 'mcp' | 'builtin' | 'definition';
  /** Index of its entry in `tools:`; undefined for a tool of a world's module, or of its `real`. */
  readonly entry?: number;
  /** 1-based start of its definition. */
  readonly place?: { readonly path: string; readonly line: number; readonly column: number };
}

export interface ToolsOfFile {
  readonly tools: readonly ToolOfFile[];
  /** Whether the list is complete, without servers whose tools are unknown. */
  readonly complete: boolean;
}

export async function toolsOf(workspace: Workspace, path: string): Promise<ToolsOfFile> {
  const root = (await workspace.parsed(path))?.value;
  if (!isJsonObject(root)) return { tools: [], complete: false };
  if (fileKind(path) === 'world' && root['kind'] !== 'simulated') {
    const module = root['module'];
    const tools =
      typeof module === 'string'
        ? await moduleToolsOf(workspace, joinPath(dirname(path), module), 'reached')
        : undefined;
    return { tools: tools ?? [], complete: false }; // a world can create tools at run time
  }
  const entries = Array.isArray(root['tools']) ? root['tools'] : [];
  const real = fileKind(path) === 'world' ? realEntries(root) : [];
  const found = await Promise.all([
    ...entries.map((entry, index) => entryTools(workspace, path, entry, index)),
    ...real.map(async (entry) => (await entryTools(workspace, path, entry, 0))?.map(withoutEntry)),
  ]);
  return { tools: found.flatMap((tools) => tools ?? []), complete: !found.includes(undefined) };
}

function withoutEntry(tool: ToolOfFile): ToolOfFile {
  const { entry: _, ...rest } = tool;
  return rest;
}

/** Returns the entries of the real tools of a simulated world. */
function realEntries(root: JsonObject): readonly unknown[] {
  const real = root['real'];
  return isJsonObject(real) && Array.isArray(real['tools']) ? real['tools'] : [];
}

/** Returns the tools of an entry in `tools:`, or undefined if they are not all known. */
export async function entryTools(
  workspace: Workspace,
  path: string,
  entry: unknown,
  index: number,
): Promise<readonly ToolOfFile[] | undefined> {
  if (!isJsonObject(entry)) return undefined;
  if (typeof entry['module'] === 'string') {
    const tools = await moduleToolsOf(workspace, joinPath(dirname(path), entry['module']), 'exported');
    return tools?.map((tool) => ({ ...tool, entry: index }));
  }
  if (Array.isArray(entry['builtin'])) {
    return entry['builtin']
      .flatMap((name) => (typeof name === 'string' ? builtinTools(workspace, name) : []))
      .map((tool) => ({ ...tool, entry: index }));
  }
  if (fileKind(path) === 'world') {
    if (typeof entry['file'] === 'string')
      return (await definitionsOf(workspace, joinPath(dirname(path), entry['file'])))?.map((tool) => ({
        ...tool,
        entry: index,
      }));
    // What a recording has is read when a batch is submitted.
    if (typeof entry['recorded'] === 'string')
      return stringList(entry['tools'])?.map((name) => ({ name, from: 'definition', entry: index }));
  }
  const server = mcpServerRef(entry['mcp']);
  const available =
    server === undefined ? undefined : workspace.facts.mcpTools(server, dirname(path), workspace.files.isSaved(path));
  const only = stringList(entry['tools']);
  if (available === undefined) return only?.map((name) => ({ name, from: 'mcp', entry: index }));
  return available
    .filter(({ name }) => only?.includes(name) ?? true)
    .map((tool) => ({ ...tool, from: 'mcp', entry: index }));
}

/** Returns the tools of a built-in set, with their parameters if known. */
export function builtinTools(workspace: Workspace, set: string): ToolOfFile[] {
  if (!Object.hasOwn(BUILTIN_TOOLS, set)) return [];
  const available = workspace.facts.builtinTools(set) ?? [];
  return BUILTIN_TOOLS[set as keyof typeof BUILTIN_TOOLS].map((name) => ({
    name,
    from: 'builtin',
    ...available.find((tool) => tool.name === name),
  }));
}

/** Returns the tools of a file with definitions. Returns undefined if there are none. */
async function definitionsOf(workspace: Workspace, file: string): Promise<ToolOfFile[] | undefined> {
  const items = definitionItems(((await workspace.parsed(file))?.value ?? null) as Json); // parsed from JSON or YAML
  const tools = items.flatMap(({ definition }): ToolOfFile[] =>
    definition === undefined
      ? []
      : [
          {
            name: definition.name,
            from: 'definition',
            input: definition.parameters,
            ...(definition.description === '' ? {} : { description: definition.description }),
          },
        ],
  );
  return tools.length === 0 ? undefined : tools;
}

/** Returns undefined if the module does not exist or its exports cannot be determined without running it. */
async function moduleToolsOf(
  workspace: Workspace,
  module: string,
  mode: 'exported' | 'reached',
): Promise<ToolOfFile[] | undefined> {
  const tools = await moduleTools(module, mode, (file) => workspace.text(file));
  if (tools === undefined || tools.length === 0) return undefined;
  return tools.map(({ name, description, path, line, column }) => ({
    name,
    from: 'module',
    place: { path, line, column },
    ...(description === undefined ? {} : { description }),
  }));
}

/** Returns the server of an entry, as written. */
export function mcpServerRef(mcp: unknown): McpServerRef | undefined {
  const catalogName = CATALOGUE_NAMES.find((name) => name === mcp);
  const server = catalogName === undefined ? mcp : { ...CATALOGUE[catalogName] };
  if (!isJsonObject(server)) return undefined;
  const { command, args, env, cwd, url, headers } = server;
  if (typeof command !== 'string' && typeof url !== 'string') return undefined;
  const arguments_ = stringList(args);
  const [variables, fields] = [stringRecord(env), stringRecord(headers)];
  return {
    ...(typeof command === 'string' ? { command } : {}),
    ...(typeof url === 'string' ? { url } : {}),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(arguments_ === undefined ? {} : { args: arguments_ }),
    ...(variables === undefined ? {} : { env: variables }),
    ...(fields === undefined ? {} : { headers: fields }),
  };
}

function stringList(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : undefined;
}

function stringRecord(value: unknown): Record<string, string> | undefined {
  return isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value).filter((member): member is [string, string] => typeof member[1] === 'string'),
      )
    : undefined;
}

/** Finds the tools of an agent or world, with the locations of their definitions if known. */
import { fileKind } from '../../common/fileKinds.ts';
import { isJsonObject } from '../../common/json.ts';
import { dirname, joinPath } from '../../config/paths.ts';
import { BUILTIN_TOOLS } from '../../config/tools/builtinTools.ts';
import { CATALOGUE, CATALOGUE_NAMES } from '../../config/tools/mcp/catalogue.ts';
import { moduleTools } from '../../config/tools/toolModules.ts';
import type { Workspace } from '../workspace.ts';
import type { KnownTool, McpQuestion } from './facts.ts';

export interface ToolOfFile extends KnownTool {
  readonly from: 'module' | 'mcp' | 'builtin';
  /** Index of its entry in `tools:`; undefined for a world's tool. */
  readonly entry?: number;
  /** 1-based start of its definition. */
  readonly place?: { readonly path: string; readonly line: number; readonly column: number };
}

interface ToolsOfFile {
  readonly tools: readonly ToolOfFile[];
  /** Whether the list is complete, without servers whose tools are unknown. */
  readonly complete: boolean;
}

export async function toolsOf(workspace: Workspace, path: string): Promise<ToolsOfFile> {
  const root = (await workspace.parsed(path))?.value;
  if (!isJsonObject(root)) return { tools: [], complete: false };
  if (fileKind(path) === 'world') {
    const module = root['module'];
    const found =
      typeof module === 'string'
        ? await moduleToolsOf(workspace, joinPath(dirname(path), module), 'reached')
        : undefined;
    return { tools: found ?? [], complete: false }; // a world can create tools at run time
  }
  const entries = Array.isArray(root['tools']) ? root['tools'] : [];
  const found = await Promise.all(entries.map((entry, index) => entryTools(workspace, path, entry, index)));
  return { tools: found.flatMap((tools) => tools ?? []), complete: !found.includes(undefined) };
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
    const found = await moduleToolsOf(workspace, joinPath(dirname(path), entry['module']), 'exported');
    return found?.map((tool) => ({ ...tool, entry: index }));
  }
  if (Array.isArray(entry['builtin'])) {
    return entry['builtin']
      .flatMap((name) => (typeof name === 'string' ? builtinTools(workspace, name) : []))
      .map((tool) => ({ ...tool, entry: index }));
  }
  const server = mcpQuestion(entry['mcp']);
  const known =
    server === undefined ? undefined : workspace.facts.mcpTools(server, dirname(path), workspace.files.isSaved(path));
  const only = listed(entry['tools']);
  if (known === undefined) return only?.map((name) => ({ name, from: 'mcp', entry: index }));
  return known
    .filter(({ name }) => only?.includes(name) ?? true)
    .map((tool) => ({ ...tool, from: 'mcp', entry: index }));
}

/** Returns the tools of a built-in set, with their parameters if known. */
export function builtinTools(workspace: Workspace, set: string): ToolOfFile[] {
  if (!Object.hasOwn(BUILTIN_TOOLS, set)) return [];
  const known = workspace.facts.builtinTools(set) ?? [];
  return BUILTIN_TOOLS[set as keyof typeof BUILTIN_TOOLS].map((name) => ({
    name,
    from: 'builtin',
    ...known.find((tool) => tool.name === name),
  }));
}

/** Returns undefined if the module does not exist or its exports cannot be determined without running it. */
async function moduleToolsOf(
  workspace: Workspace,
  module: string,
  how: 'exported' | 'reached',
): Promise<ToolOfFile[] | undefined> {
  const found = await moduleTools(module, how, (file) => workspace.text(file));
  if (found === undefined || found.length === 0) return undefined;
  return found.map(({ name, description, path, line, column }) => ({
    name,
    from: 'module',
    place: { path, line, column },
    ...(description === undefined ? {} : { description }),
  }));
}

/** Returns the server of an entry, as written. */
export function mcpQuestion(mcp: unknown): McpQuestion | undefined {
  const known = CATALOGUE_NAMES.find((name) => name === mcp);
  const server = known === undefined ? mcp : { ...CATALOGUE[known] };
  if (!isJsonObject(server)) return undefined;
  const { command, args, env, cwd, url, headers } = server;
  if (typeof command !== 'string' && typeof url !== 'string') return undefined;
  const arguments_ = listed(args);
  const [variables, fields] = [textsIn(env), textsIn(headers)];
  return {
    ...(typeof command === 'string' ? { command } : {}),
    ...(typeof url === 'string' ? { url } : {}),
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(arguments_ === undefined ? {} : { args: arguments_ }),
    ...(variables === undefined ? {} : { env: variables }),
    ...(fields === undefined ? {} : { headers: fields }),
  };
}

function listed(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : undefined;
}

function textsIn(value: unknown): Record<string, string> | undefined {
  return isJsonObject(value)
    ? Object.fromEntries(
        Object.entries(value).filter((member): member is [string, string] => typeof member[1] === 'string'),
      )
    : undefined;
}

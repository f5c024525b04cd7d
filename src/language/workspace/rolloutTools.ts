import { isJsonObject } from '../../common/json.ts';
import type { Workspace } from '../workspace.ts';
import { answeringWorlds, referencedFiles, referencingFiles } from './relations.ts';
import { type ToolOfFile, type ToolsOfFile, toolsOf } from './tools.ts';

/** Returns the tools of a world and of those that answer for it. Adds the files it reads to `dependencies`. */
async function worldTools(workspace: Workspace, world: string, dependencies: Set<string>): Promise<ToolsOfFile> {
  const tools: ToolOfFile[] = [];
  let complete = true;
  for (const file of await answeringWorlds(workspace, world)) {
    dependencies.add(file);
    const root = (await workspace.parsed(file))?.value;
    const found = await toolsOf(workspace, file);
    tools.push(...found.tools);
    const isModule = isJsonObject(root) && typeof root['module'] === 'string';
    // Without tools of its own in sight, a module may create any.
    if (!found.complete && !(isModule && found.tools.length > 0)) complete = false;
  }
  for (const { place } of tools) if (place !== undefined) dependencies.add(place.path);
  return { tools, complete: complete && tools.length > 0 };
}

/** Returns the names of tools that `route` may name: those of a world and of its real world. */
export async function routedTools(
  workspace: Workspace,
  world: string,
  dependencies: Set<string>,
): Promise<RolloutTools> {
  const { tools, complete } = await worldTools(workspace, world, dependencies);
  return { names: [...new Set(tools.map(({ name }) => name))].sort(), complete };
}

interface RolloutTools {
  readonly names: readonly string[];
  /** Whether these are all tools of rollouts in the world, as far as files say. */
  readonly complete: boolean;
}

/**
 * Returns the names of tools in the rollouts of a world: its own, and those of the agents that batches run in it. Adds
 * the files it reads to `dependencies`.
 */
export async function rolloutTools(
  workspace: Workspace,
  world: string,
  dependencies: Set<string>,
): Promise<RolloutTools> {
  const own = await worldTools(workspace, world, dependencies);
  const batches = await referencingFiles(workspace, world, 'batch');
  const agents = new Set(
    (await Promise.all(batches.map((batch) => referencedFiles(workspace, batch, 'agent')))).flat(),
  );
  // Without an agent, nobody knows who calls them.
  let complete = own.complete && agents.size > 0;
  const tools = [...own.tools];
  for (const file of [...batches, ...agents]) dependencies.add(file);
  for (const agent of agents) {
    const root = (await workspace.parsed(agent))?.value;
    const found = await toolsOf(workspace, agent);
    // Members of a team have tools of their own.
    if (!found.complete || (isJsonObject(root) && root['team'] !== undefined)) complete = false;
    tools.push(...found.tools);
  }
  for (const { place } of tools) if (place !== undefined) dependencies.add(place.path);
  return { names: [...new Set(tools.map(({ name }) => name))].sort(), complete };
}

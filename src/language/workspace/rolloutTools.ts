import { isJsonObject } from '../../common/json.ts';
import type { Workspace } from '../workspace.ts';
import { referencedFiles, referencingFiles, worldsUnder } from './relations.ts';
import { toolsOf } from './tools.ts';

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
  const inside = await worldsUnder(workspace, world);
  const own = (await Promise.all([world, ...inside].map((file) => toolsOf(workspace, file)))).flatMap((of) => of.tools);
  const batches = await referencingFiles(workspace, world, 'batch');
  const agents = new Set(
    (await Promise.all(batches.map((batch) => referencedFiles(workspace, batch, 'agent')))).flat(),
  );
  // Without tools of its own in sight, the world may create any; without an agent, nobody knows who calls them.
  let complete = own.length > 0 && agents.size > 0;
  const tools = [...own];
  for (const file of [...inside, ...batches, ...agents]) dependencies.add(file);
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

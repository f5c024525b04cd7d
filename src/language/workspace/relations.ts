/** Resolves relations in a workspace: agents with their prompts, tools, worlds, and datasets. */
import { type FileKind, fileKind } from '../../common/fileKinds.ts';
import { ANSWERING_WORLDS } from '../../config/schema/nestedWorld.ts';
import type { Workspace } from '../workspace.ts';
import { batchesOfPrompt, type DatasetHead, datasetOf } from './columns.ts';
import type { FileRole } from './references.ts';
import { type ToolOfFile, toolsOf } from './tools.ts';

/** Returns the files that a config file references with this role. */
export async function referencedFiles(workspace: Workspace, path: string, role: FileRole): Promise<string[]> {
  return (await workspace.references(path)).flatMap(({ kind, file }) =>
    kind === role && file !== undefined ? [file] : [],
  );
}

/** Returns the config files of a kind that reference this file. */
export async function referencingFiles(workspace: Workspace, path: string, kind: FileKind): Promise<string[]> {
  const files = (await workspace.mentionsOf(path)).map(({ file }) => file).filter((file) => fileKind(file) === kind);
  return [...new Set(files)];
}

/** Returns the worlds that a batch or a world names, and all that they contain. */
export async function worldsUnder(workspace: Workspace, path: string): Promise<string[]> {
  const found = new Set<string>();
  const files = [path];
  for (let next = files.pop(); next !== undefined; next = files.pop())
    for (const world of await referencedFiles(workspace, next, 'world')) {
      if (!found.has(world)) files.push(world);
      found.add(world);
    }
  found.delete(path); // of a world that contains itself, which is an error
  return [...found];
}

/** Returns a world and all that it contains whose tools an agent gets. */
export async function answeringWorlds(workspace: Workspace, world: string): Promise<string[]> {
  const found = new Set([world]);
  for (const next of found)
    for (const { kind, file, path } of await workspace.references(next))
      if (kind === 'world' && file !== undefined && ANSWERING_WORLDS.some((key) => key === path[0])) found.add(file);
  return [...found];
}

/** A tool with a location in a module. */
type ModuleTool = ToolOfFile & { readonly place: NonNullable<ToolOfFile['place']> };

/**
 * Returns the tools of an agent or world that have a location in code: of its modules, the worlds that it names, and
 * its batches' worlds.
 */
export async function moduleToolsOf(workspace: Workspace, path: string): Promise<ModuleTool[]> {
  const batches = await referencingFiles(workspace, path, 'batch');
  const worlds = await Promise.all([path, ...batches].map((file) => worldsUnder(workspace, file)));
  const files = new Set([path, ...worlds.flat()]);
  const found = (await Promise.all([...files].map((file) => toolsOf(workspace, file)))).flatMap(({ tools }) => tools);
  const placed = found.filter((tool): tool is ModuleTool => tool.place !== undefined);
  return [...new Map(placed.map((tool) => [`${tool.place.path}\n${tool.name}`, tool])).values()];
}

/**
 * Returns the datasets whose tasks fill the prompts of an agent, a world's user, a batch's rubric, or a prompt file.
 */
export async function datasetsFor(workspace: Workspace, path: string): Promise<DatasetHead[]> {
  const found = await Promise.all((await batchesOfPrompt(workspace, path)).map((batch) => datasetOf(workspace, batch)));
  return found.filter((head) => head !== undefined);
}

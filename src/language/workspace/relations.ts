/** Who belongs to whom in a workspace: agents, their prompts, tools, worlds and datasets. */
import { type FileKind, fileKind } from '../../common/fileKinds.ts';
import type { Workspace } from '../workspace.ts';
import { batchesOfPrompt, type DatasetHead, datasetOf } from './columns.ts';
import type { FileRole } from './references.ts';
import { type ToolOfFile, toolsOf } from './tools.ts';

/** Files that a config file names in this role. */
export async function filesNamed(workspace: Workspace, path: string, role: FileRole): Promise<string[]> {
  return (await workspace.references(path)).flatMap(({ kind, file }) =>
    kind === role && file !== undefined ? [file] : [],
  );
}

/** Config files of a kind that name this file. */
export async function namedBy(workspace: Workspace, path: string, kind: FileKind): Promise<string[]> {
  const files = (await workspace.mentionsOf(path)).map(({ file }) => file).filter((file) => fileKind(file) === kind);
  return [...new Set(files)];
}

/** A tool of a module: something a name in code leads to. */
export type ModuleTool = ToolOfFile & { readonly place: NonNullable<ToolOfFile['place']> };

/** The tools of an agent that have a place in code: of its own modules, and of the worlds that batches put it into. */
export async function moduleToolsOf(workspace: Workspace, agent: string): Promise<ModuleTool[]> {
  const batches = await namedBy(workspace, agent, 'batch');
  const worlds = new Set((await Promise.all(batches.map((batch) => filesNamed(workspace, batch, 'world')))).flat());
  const found = (await Promise.all([agent, ...worlds].map((file) => toolsOf(workspace, file)))).flatMap(
    ({ tools }) => tools,
  );
  const placed = found.filter((tool): tool is ModuleTool => tool.place !== undefined);
  return [...new Map(placed.map((tool) => [`${tool.place.path}\n${tool.name}`, tool])).values()];
}

/**
 * The datasets whose tasks fill in the prompts of an agent, a world with a user or a batch with a rubric, or the prompt
 * of a file.
 */
export async function datasetsFor(workspace: Workspace, path: string): Promise<DatasetHead[]> {
  const found = await Promise.all((await batchesOfPrompt(workspace, path)).map((batch) => datasetOf(workspace, batch)));
  return found.filter((head) => head !== undefined);
}

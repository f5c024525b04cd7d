/** Describes the target of a name: a tool with its arguments, a file, or a column with an example. */
import { fileKind } from '../../../common/fileKinds.ts';
import { isJsonObject } from '../../../common/json.ts';
import { basename, dirname, relative } from '../../../config/paths.ts';
import { taskField } from '../../../config/prompt.ts';
import { datasetOf } from '../../workspace/columns.ts';
import type { Reference } from '../../workspace/references.ts';
import { answeringWorlds, datasetsFor } from '../../workspace/relations.ts';
import { builtinTools, entryTools, type ToolOfFile, toolsOf } from '../../workspace/tools.ts';
import { valueAt } from '../../workspace/valueAt.ts';
import type { Workspace } from '../../workspace.ts';
import { callText } from './callText.ts';

/** Where a tool is from that has no place in code. */
const NO_PLACE: Readonly<Record<ToolOfFile['from'], string>> = {
  module: 'From a module',
  mcp: 'From an MCP server',
  builtin: 'Built-in',
  definition: 'A definition, without code',
};
const MAX_LINES = 12;
const MAX_TOOLS = 30;

export async function referenceText(
  workspace: Workspace,
  path: string,
  reference: Reference,
): Promise<string | undefined> {
  const { kind, text, file } = reference;
  switch (kind) {
    case 'agent':
    case 'world':
      return file === undefined ? undefined : configText(workspace, file);
    case 'prompt':
      return file === undefined ? undefined : promptText(workspace, file);
    case 'module':
      return moduleText(workspace, path, reference);
    case 'dataset':
    case 'column':
      return datasetText(workspace, path, kind === 'column' ? text : undefined);
    case 'builtin': {
      const tools = builtinTools(workspace, text);
      return tools.length === 0 ? undefined : `Built-in \`${text}\`\n\n${toolLines(tools)}`;
    }
    case 'tool': {
      const files = fileKind(path) === 'world' ? await answeringWorlds(workspace, path) : [path];
      const found = await Promise.all(files.map((each) => toolsOf(workspace, each)));
      const tool = found.flatMap(({ tools }) => tools).find(({ name }) => name === text);
      return tool === undefined ? undefined : toolText(workspace, tool, path);
    }
    case 'placeholder':
      return placeholderText(workspace, path, text);
    case 'env':
      return workspace.facts.envNames().length === 0
        ? undefined
        : `The environment variable \`${text}\` is ` +
            (workspace.facts.envNames().includes(text)
              ? 'set in the editor’s environment or stored by the editor. '
              : 'not set in the editor’s environment, and not stored by the editor. ') +
            'Its value is inserted when a batch is submitted.';
    case 'export':
      return undefined;
  }
}

async function configText(workspace: Workspace, file: string): Promise<string | undefined> {
  const root = (await workspace.parsed(file))?.value;
  if (!isJsonObject(root)) return undefined;
  const model =
    isJsonObject(root['model']) && typeof root['model']['name'] === 'string' ? root['model']['name'] : undefined;
  const { tools } = await toolsOf(workspace, file);
  return [
    `**${typeof root['name'] === 'string' ? root['name'] : basename(file)}**`,
    ...(model === undefined ? [] : [`Model \`${model}\``]),
    ...(tools.length === 0
      ? []
      : [
          `Tools: ${tools
            .slice(0, MAX_TOOLS)
            .map(({ name }) => `\`${name}\``)
            .join(', ')}${tools.length > MAX_TOOLS ? '…' : ''}`,
        ]),
  ].join('\n\n');
}

async function promptText(workspace: Workspace, file: string): Promise<string | undefined> {
  const text = await workspace.text(file);
  if (text === undefined) return undefined;
  const lines = text.trimEnd().split('\n');
  return fenced(`${lines.slice(0, MAX_LINES).join('\n')}${lines.length > MAX_LINES ? '\n…' : ''}`);
}

/** Fences a text with more backticks than it contains. */
function fenced(text: string): string {
  const fence = '`'.repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)));
  return `${fence}text\n${text}\n${fence}`;
}

async function moduleText(workspace: Workspace, path: string, { path: at }: Reference): Promise<string | undefined> {
  const entryAt = at.slice(0, -1); // of its `module`
  const index = entryAt.at(-1);
  if (entryAt.at(-2) !== 'tools' || typeof index !== 'number') return undefined;
  const entry: unknown = valueAt((await workspace.parsed(path))?.value, entryAt);
  const tools = await entryTools(workspace, path, entry, index);
  return tools === undefined ? undefined : toolLines(tools);
}

/** Lists tools with their parameters, if known. */
function toolLines(tools: readonly ToolOfFile[]): string {
  return tools
    .slice(0, MAX_TOOLS)
    .map(
      ({ name, description, input }) =>
        '- ' +
        `\`${input === undefined ? name : callText(name, input)}\`` +
        (description === undefined ? '' : `: ${description}`),
    )
    .join('\n');
}

async function toolText(workspace: Workspace, tool: ToolOfFile, path: string): Promise<string> {
  const { name, description, input, place, from } = tool;
  const code =
    input !== undefined
      ? callText(name, input)
      : ((place === undefined ? undefined : await definitionText(workspace, place)) ?? name);
  const where = place === undefined ? NO_PLACE[from] : `${relative(dirname(path), place.path)}:${place.line}`;
  return [`\`\`\`ts\n${code}\n\`\`\``, ...(description === undefined ? [] : [description]), where].join('\n\n');
}

/** Returns the start of its definition, which contains the parameters. */
async function definitionText(
  workspace: Workspace,
  { path, line }: NonNullable<ToolOfFile['place']>,
): Promise<string | undefined> {
  const lines = (await workspace.text(path))?.split(/\r?\n/).slice(line - 1);
  if (lines === undefined) return undefined;
  const end = lines.findIndex((text, index) => index > 0 && /^\S/.test(text));
  const whole = lines.slice(0, end === -1 ? undefined : end + 1);
  return whole.length <= MAX_LINES ? whole.join('\n') : `${whole.slice(0, MAX_LINES).join('\n')}\n  …`;
}

async function datasetText(
  workspace: Workspace,
  path: string,
  column: string | undefined,
): Promise<string | undefined> {
  const head = await datasetOf(workspace, path);
  if (head === undefined) return undefined;
  if (column === undefined) return `Columns: ${head.columns.map((name) => `\`${name}\``).join(', ')}`;
  return head.lines.has(column)
    ? `Column \`${column}\` of ${basename(head.path)}, first in line ${head.lines.get(column) ?? 1}`
    : undefined;
}

async function placeholderText(workspace: Workspace, path: string, field: string): Promise<string | undefined> {
  for (const { path: dataset, tasks } of await datasetsFor(workspace, path)) {
    const task = tasks.find((candidate) => taskField(candidate, field) !== undefined);
    const value = task === undefined ? undefined : taskField(task, field);
    if (task === undefined || value === undefined) continue;
    const example = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
    return (
      `\`${field}\` of each task in ${basename(dataset)}. For task ` +
      `\`${task.id}\`:\n\n${fenced(example.length > 1000 ? `${example.slice(0, 1000)}…` : example)}`
    );
  }
  return undefined;
}

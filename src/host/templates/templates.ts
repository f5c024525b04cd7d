/**
 * Implements New Agent…, New Tool…, New Batch…, and Add World…: asks for a name, writes the files, and opens the first.
 */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { relative } from '../../config/paths.ts';
import { AGENT_WORLD_FOLDERS } from '../../formats/agentWorld.ts';
import { AWM_FILES } from '../../formats/awmFiles.ts';
import { findFiles } from '../files/findFiles.ts';
import { exists } from '../files/workspaceFiles.ts';
import { writeTypes } from '../files/writeTypes.ts';
import type { CommandGroup, Services } from '../services.ts';
import {
  type FilledTemplate,
  fill,
  nameProblem,
  type TemplateFile,
  type TemplateKind,
  templateSet,
} from './template.ts';

const PROMPTS: Readonly<
  Record<TemplateKind, { readonly title: string; readonly prompt: string; readonly example: string }>
> = {
  agent: { title: 'New Agent', prompt: 'Name of the agent', example: 'my-agent' },
  tool: { title: 'New Tool', prompt: 'Name of the tool, as the model calls it', example: 'count_words' },
  pythonTool: { title: 'New Tool', prompt: 'Name of the tool, as the model calls it', example: 'count_words' },
  world: { title: 'Add World', prompt: 'Name of the world', example: 'my-world' },
  codeWorld: { title: 'Add World', prompt: 'Name of the world', example: 'my-world' },
  batch: { title: 'New Batch', prompt: 'Name of the batch', example: 'my-batch' },
};

export function templateCommands(
  services: Services,
): CommandGroup<'rollout.newAgent' | 'rollout.newTool' | 'rollout.newBatch' | 'rollout.addWorld'> {
  return {
    'rollout.newAgent': () => create(services, 'agent'),
    'rollout.newTool': async () => {
      const kind = await pickLanguage();
      if (kind !== undefined) await create(services, kind);
    },
    'rollout.newBatch': () => create(services, 'batch'),
    'rollout.addWorld': async () => {
      const kind = await pickWorldKind();
      if (kind === 'world') await create(services, kind);
      else if (kind === 'codeWorld') {
        const published = await pickPublished();
        if (published !== undefined) await create(services, kind, published);
      }
    },
  };
}

/** `published`: the files of a world that is published. */
async function create(services: Services, kind: TemplateKind, published?: Published): Promise<void> {
  const folder = await pickFolder();
  if (folder === undefined) return;
  const name = await askName(kind, folder);
  if (name === undefined) return;
  const values: Record<string, string> = { NAME: name };
  if (kind === 'batch') {
    const agent = await pickAgent(folder, vscode.Uri.joinPath(folder, templateSet(kind, name).main.path));
    if (agent === undefined) return;
    values['AGENT'] = agent;
  }
  const { main, references } = templateSet(kind, name);
  const uri = vscode.Uri.joinPath(folder, main.path);
  if (published !== undefined) {
    values['FORMAT'] = published.format;
    values['FROM'] = JSON.stringify(relative(vscode.Uri.joinPath(uri, '..').path, published.folder.path));
  }
  // The file may have been created during the prompt.
  if (await exists(uri))
    throw new StudioError('conflict', `${main.path} already exists. No files were written.`, {
      hint: 'Choose another name.',
    });
  const filled = await write(services, uri, main, values);
  for (const file of references) {
    const referenceUri = vscode.Uri.joinPath(folder, file.path);
    if (!(await exists(referenceUri))) await write(services, referenceUri, file, values);
  }
  if (kind === 'tool' || kind === 'world') void writeTypes(services, folder);
  const at = new vscode.Position(filled.cursor.line, filled.cursor.column);
  await vscode.window.showTextDocument(uri, { preview: false, selection: new vscode.Range(at, at) });
}

async function pickLanguage(): Promise<'tool' | 'pythonTool' | undefined> {
  const items = [
    { label: 'TypeScript', description: 'a function and a zod schema', language: 'tool' as const },
    {
      label: 'Python, MCP server',
      description: 'one file, for python3 or uv, with nothing installed',
      language: 'pythonTool' as const,
    },
  ];
  return (await vscode.window.showQuickPick(items, { title: 'New Tool', placeHolder: 'Select a language' }))?.language;
}

async function pickWorldKind(): Promise<'world' | 'codeWorld' | undefined> {
  const items = [
    {
      label: 'Published worlds',
      description: 'a folder of Agent World Model or Agent-World',
      world: 'codeWorld' as const,
    },
    { label: 'TypeScript module', description: 'tools, state, and verifier of your own', world: 'world' as const },
  ];
  return (await vscode.window.showQuickPick(items, { title: 'Add World', placeHolder: 'Select a kind of world' }))
    ?.world;
}

/** A folder with published worlds. */
interface Published {
  readonly folder: vscode.Uri;
  readonly format: string;
}

/** Lets the user choose a folder with published worlds. */
async function pickPublished(): Promise<Published | undefined> {
  const [folder] =
    (await vscode.window.showOpenDialog({
      title: 'Folder of Published Worlds',
      openLabel: 'Add',
      canSelectFolders: true,
      canSelectFiles: false,
    })) ?? [];
  if (folder === undefined) return undefined;
  for (const [format, file] of Object.entries(WORLD_FILES))
    if (await exists(vscode.Uri.joinPath(folder, file))) return { folder, format };
  throw new StudioError('usage', `There are no published worlds in ${folder.fsPath}.`, {
    hint: `Select the folder that contains ${Object.values(WORLD_FILES).join(' or ')}.`,
  });
}

/** By format: what its folders contain. */
const WORLD_FILES = { awm: AWM_FILES.scenario, 'agent-world': AGENT_WORLD_FOLDERS.environments } as const;

async function pickFolder(): Promise<vscode.Uri | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (folders.length === 0) throw new StudioError('usage', 'No folder is open.', { hint: 'Open a folder first.' });
  if (folders.length === 1) return folders[0]?.uri;
  return (await vscode.window.showWorkspaceFolderPick({ placeHolder: 'Select a folder' }))?.uri;
}

async function askName(kind: TemplateKind, folder: vscode.Uri): Promise<string | undefined> {
  const { title, prompt, example } = PROMPTS[kind];
  const name = await vscode.window.showInputBox({
    title,
    prompt,
    placeHolder: example,
    ignoreFocusOut: true,
    validateInput: async (text) => {
      const trimmed = text.trim();
      if (trimmed === '') return undefined; // no error while empty; checked below
      const problem = nameProblem(kind, trimmed);
      if (problem !== undefined) return problem;
      const { path } = templateSet(kind, trimmed).main;
      return (await exists(vscode.Uri.joinPath(folder, path)))
        ? `${path} already exists. Choose another name.`
        : undefined;
    },
  });
  const trimmed = name?.trim();
  return trimmed === '' ? undefined : trimmed;
}

/** Returns the batch file's path to its agent. Lets the user pick if there are several. */
async function pickAgent(folder: vscode.Uri, batch: vscode.Uri): Promise<string | undefined> {
  const agents = await findFiles([folder], 'agent', 200);
  const from = vscode.Uri.joinPath(batch, '..').path;
  const items = agents
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((uri) => ({ label: vscode.workspace.asRelativePath(uri, false), path: relative(from, uri.path) }));
  if (items.length === 0) return '../agents/my-agent.agent.yaml';
  if (items.length === 1) return items[0]?.path;
  return (await vscode.window.showQuickPick(items, { title: 'New Batch', placeHolder: 'Select the agent to run' }))
    ?.path;
}

async function write(
  { context }: Services,
  uri: vscode.Uri,
  { template }: TemplateFile,
  values: Readonly<Record<string, string>>,
): Promise<FilledTemplate> {
  const bytes = await vscode.workspace.fs.readFile(
    vscode.Uri.joinPath(context.extensionUri, 'media', 'templates', template),
  );
  const filled = fill(new TextDecoder().decode(bytes), values);
  await vscode.workspace.fs.writeFile(uri, new TextEncoder().encode(filled.text));
  return filled;
}

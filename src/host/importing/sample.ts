/** Implements Create Sample Workspace and Create GAIA Workspace. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { CommandGroup, Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';

const initReply = z.object({ folder: z.string(), files: z.array(z.string()) });
interface Sample {
  /** Template of `rollout init --template`, and its display name. */
  readonly template: string;
  readonly name: string;
  /** File to open first. */
  readonly first: string;
}

export function sampleCommands(
  { cli }: Services,
  files: StudioFiles,
): CommandGroup<'rollout.createSample' | 'rollout.createGaia'> {
  const create = async ({ template, name, first }: Sample): Promise<void> => {
    const open = await emptyFolder();
    const target = open ?? (await pickFolder(name));
    if (target === undefined) return;
    const { folder } = await withProgress(`Creating the ${name}`, async ({ signal }) =>
      initReply.parse(await cli.json(['init', target.fsPath, '--template', template], { cwd: target.fsPath, signal })),
    );
    if (!isOpen(target)) {
      await offerToOpen(vscode.Uri.file(folder), name);
      return;
    }
    files.refresh();
    await vscode.window.showTextDocument(vscode.Uri.file(path.join(folder, first)), { preview: false });
  };
  return {
    'rollout.createSample': () =>
      create({ template: 'desk', name: 'sample workspace', first: path.join('batches', 'desk.batch.yaml') }),
    'rollout.createGaia': () =>
      create({ template: 'gaia', name: 'GAIA workspace', first: path.join('agents', 'gaia.agent.yaml') }),
  };
}

/** Returns the folder of this window if it is empty. */
async function emptyFolder(): Promise<vscode.Uri | undefined> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  if (folder?.uri.scheme !== 'file') return undefined;
  const entries = await vscode.workspace.fs.readDirectory(folder.uri);
  // Editor settings and the Git folder do not count as content.
  return entries.every(([name]) => name === '.vscode' || name === '.git') ? folder.uri : undefined;
}

async function pickFolder(name: string): Promise<vscode.Uri | undefined> {
  const chosen = await vscode.window.showOpenDialog({
    title: `Folder for the ${name}`,
    openLabel: 'Create Here',
    canSelectFiles: false,
    canSelectFolders: true,
    canSelectMany: false,
  });
  return chosen?.[0];
}

function isOpen(folder: vscode.Uri): boolean {
  return vscode.workspace.workspaceFolders?.some(({ uri }) => uri.toString() === folder.toString()) ?? false;
}

async function offerToOpen(folder: vscode.Uri, name: string): Promise<void> {
  const chosen = await vscode.window.showInformationMessage(
    `Created the ${name} in ${folder.fsPath}.`,
    'Open',
    'Open in New Window',
  );
  if (chosen !== undefined)
    await vscode.commands.executeCommand('vscode.openFolder', folder, { forceNewWindow: chosen !== 'Open' });
}

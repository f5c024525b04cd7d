/** Create Sample Workspace. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { CommandGroup, Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';

const made = z.object({ folder: z.string(), files: z.array(z.string()) });
/** What one looks at first. */
const FIRST_FILE = path.join('batches', 'desk.batch.yaml');

export function sampleCommands({ cli }: Services, files: StudioFiles): CommandGroup<'rollout.createSample'> {
  return {
    'rollout.createSample': async () => {
      const open = await emptyFolder();
      const target = open ?? (await chosenFolder());
      if (target === undefined) return;
      const { folder } = await withProgress('Creating the sample workspace', async ({ signal }) => made.parse(await cli.json(['init', target.fsPath], { cwd: target.fsPath, signal })));
      if (!isOpen(target)) {
        await offerToOpen(vscode.Uri.file(folder));
        return;
      }
      files.refresh();
      await vscode.window.showTextDocument(vscode.Uri.file(path.join(folder, FIRST_FILE)), { preview: false });
    },
  };
}

/** The folder of this window, when nothing is in it. */
async function emptyFolder(): Promise<vscode.Uri | undefined> {
  const [folder] = vscode.workspace.workspaceFolders ?? [];
  if (folder?.uri.scheme !== 'file') return undefined;
  const entries = await vscode.workspace.fs.readDirectory(folder.uri);
  // Settings of the editor and a repository's own folder are no content.
  return entries.every(([name]) => name === '.vscode' || name === '.git') ? folder.uri : undefined;
}

async function chosenFolder(): Promise<vscode.Uri | undefined> {
  const chosen = await vscode.window.showOpenDialog({ title: 'Folder for the Sample Workspace', openLabel: 'Create Here', canSelectFiles: false, canSelectFolders: true, canSelectMany: false });
  return chosen?.[0];
}

function isOpen(folder: vscode.Uri): boolean {
  return vscode.workspace.workspaceFolders?.some(({ uri }) => uri.toString() === folder.toString()) ?? false;
}

async function offerToOpen(folder: vscode.Uri): Promise<void> {
  const chosen = await vscode.window.showInformationMessage(`The sample workspace is in ${folder.fsPath}.`, 'Open', 'Open in New Window');
  if (chosen !== undefined) await vscode.commands.executeCommand('vscode.openFolder', folder, { forceNewWindow: chosen !== 'Open' });
}

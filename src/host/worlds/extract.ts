/** Copies a published scenario to files of the workspace that can be edited, with a world file that uses them. */
import path from 'node:path';
import * as vscode from 'vscode';
import { extractedFiles } from '../../client/published/extract.ts';
import { StudioError } from '../../common/errors.ts';
import { exists } from '../files/workspaceFiles.ts';
import type { OpenScenario } from './page/worldDetails.ts';

/** Asks before it replaces files. `world`: the file whose scenario it is; the new files are next to it. */
export async function extractScenario(world: vscode.Uri, { published, scenario }: OpenScenario): Promise<void> {
  const folder = vscode.Uri.joinPath(world, '..', scenario.key);
  const file = vscode.Uri.joinPath(world, '..', `${scenario.key}.world.yaml`);
  for (const target of [folder, file]) {
    if (!(await exists(target))) continue;
    const name = vscode.workspace.asRelativePath(target);
    throw new StudioError('conflict', `${name} exists already.`, { hint: 'Rename or delete it, then extract again.' });
  }
  const { files, format } = await extractedFiles(published, scenario.key, new AbortController().signal);
  for (const [name, text] of files)
    await vscode.workspace.fs.writeFile(
      vscode.Uri.joinPath(folder, ...name.split('/')),
      new TextEncoder().encode(text),
    );
  const yaml = [
    'version: 1',
    `name: ${scenario.key}`,
    'kind: code',
    `format: ${format}`,
    `from: ${scenario.key}`,
    `scenario: ${scenario.key}`,
    '',
  ].join('\n');
  await vscode.workspace.fs.writeFile(file, new TextEncoder().encode(yaml));
  await vscode.window.showTextDocument(file);
  void vscode.window.showInformationMessage(
    `Extracted ${scenario.name} to ${vscode.workspace.asRelativePath(folder)} (${files.length} files), used by ` +
      `${path.posix.basename(file.path)}.`,
  );
}

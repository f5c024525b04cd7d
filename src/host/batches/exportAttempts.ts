/** Implements Export Attempts as CSV. */
import path from 'node:path';
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { CommandGroup, Services } from '../services.ts';
import { pickBatch } from './pickBatch.ts';

export function exportCommands(services: Services): CommandGroup<'rollout.exportAttempts'> {
  return {
    'rollout.exportAttempts': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Export Attempts as CSV',
        applies: () => true,
        direct: true,
      });
      if (batch !== undefined) await exportBatch(services, batch);
    },
  };
}

async function exportBatch({ batches, cli }: Services, batch: string): Promise<void> {
  const { name } = await batches.get(batch);
  const folder = vscode.workspace.workspaceFolders?.find((candidate) => candidate.uri.scheme === 'file')?.uri;
  const fileName = `${name.replace(/[^\w.-]+/g, '-')}.csv`;
  const target = await vscode.window.showSaveDialog({
    title: 'Export Attempts as CSV',
    saveLabel: 'Export',
    filters: { CSV: ['csv'] },
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, fileName) }),
  });
  if (target === undefined) return;
  if (target.scheme !== 'file')
    throw new StudioError('unsupported', 'Attempts can be exported only to a folder on the machine of the extension.');
  await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: `Exporting ${name}` },
    async () => {
      await cli.json(['export', batch, '--out', target.fsPath], { cwd: path.dirname(target.fsPath) });
    },
  );
  const show = await vscode.window.showInformationMessage(
    `Exported ${name} to ${path.basename(target.fsPath)}.`,
    'Open',
  );
  if (show === 'Open') await vscode.window.showTextDocument(target);
}

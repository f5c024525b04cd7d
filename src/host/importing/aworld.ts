/** Implements Import Agents from AWorld…, which creates agent and prompt files in the workspace. */
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { CommandGroup, Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';

const importReply = z.object({ files: z.array(z.string()), main: z.string(), notes: z.array(z.string()) });
const SHOW_LOG = 'Show Log';

export function aworldCommands(
  { cli, log }: Pick<Services, 'cli' | 'log'>,
  files: StudioFiles,
): CommandGroup<'rollout.importAworld'> {
  return {
    'rollout.importAworld': async () => {
      const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === 'file')?.uri;
      if (folder === undefined) throw new StudioError('usage', 'No folder is open.', { hint: 'Open a folder first.' });
      const [source] =
        (await vscode.window.showOpenDialog({
          title: 'Import Agents from AWorld',
          defaultUri: folder,
          canSelectMany: false,
          openLabel: 'Import',
          filters: { 'AWorld agents': ['yaml', 'yml', 'json', 'md'] },
        })) ?? [];
      if (source === undefined) return;
      const result = importReply.parse(
        await withProgress('Importing agents', ({ signal }) =>
          cli.json(['agent', 'import', source.fsPath, '--out', folder.fsPath], { cwd: folder.fsPath, signal }),
        ),
      );
      files.refresh();
      for (const note of result.notes) log.warn(`${vscode.workspace.asRelativePath(source, false)}: ${note}`);
      await vscode.window.showTextDocument(vscode.Uri.joinPath(folder, result.main), { preview: false });
      const agents = result.files.filter((file) => file.startsWith('agents/')).length;
      const text = `Created ${plural(agents, 'agent file')}.`;
      if (result.notes.length === 0) void vscode.window.showInformationMessage(text);
      else if (
        (await vscode.window.showWarningMessage(
          `${text} ${plural(result.notes.length, 'note')}: ${result.notes[0] ?? ''}`,
          SHOW_LOG,
        )) === SHOW_LOG
      )
        log.show();
    },
  };
}

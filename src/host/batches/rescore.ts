/** Implements Rescore Batch…: asks for the scorer, then launches the batch that scores, through the CLI. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { StudioError } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { findFiles } from '../files/findFiles.ts';
import { folderOf } from '../files/workspaceFiles.ts';
import { submissionOf } from '../launch/relaunch.ts';
import { askValue } from '../launch/values/askValue.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { type AskValue, withValues } from '../launch/values/withValues.ts';
import type { CommandGroup, Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { setting } from '../window/settings.ts';
import { pickBatch } from './pickBatch.ts';

const TITLE = 'Rescore Batch';
/** Maximum number of batch files to offer. */
const MAX_FILES = 200;

const reply = z.object({ batch: z.string(), attempts: z.number(), notes: z.array(z.string()) });

/** The file with the scorer; undefined for the batch's own one. */
interface ScorerChoice {
  readonly file: vscode.Uri | undefined;
}

export function rescoreCommands(services: Services, values: StoredValues): CommandGroup<'rollout.rescoreBatch'> {
  return {
    'rollout.rescoreBatch': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: TITLE,
        applies: ({ counts }) => counts.passed + counts.failed + counts.unscored > 0,
      });
      if (batch === undefined) return;
      const row = await services.batches.get(batch);
      const choice = await pickScorer(services, row);
      if (choice !== undefined) await rescore(services, values, row, choice);
    },
  };
}

/** Returns undefined if the user cancels. */
async function pickScorer({ server }: Services, row: BatchRow): Promise<ScorerChoice | undefined> {
  const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri);
  const [files, own] = await Promise.all([findFiles(folders, 'batch', MAX_FILES), ownItem(server, row)]);
  const other: vscode.QuickPickItem = {
    label: '$(folder-opened) Another File…',
    description: 'a batch file, or a YAML file with only a scorer',
  };
  const listed = files
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map((file) => ({ label: vscode.workspace.asRelativePath(file), description: 'only its scorer is used', file }));
  const chosen = await vscode.window.showQuickPick<vscode.QuickPickItem & Partial<ScorerChoice>>(
    [...own, ...listed, other],
    { title: `${TITLE} ${row.name}`, placeHolder: 'Select the scorer', matchOnDescription: true },
  );
  if (chosen !== other) return chosen === undefined ? undefined : { file: chosen.file };
  const [file] =
    (await vscode.window.showOpenDialog({
      title: TITLE,
      openLabel: 'Select',
      filters: { 'Batch or Scorer': ['yaml', 'yml', 'json'] },
      ...(folders[0] === undefined ? {} : { defaultUri: folders[0] }),
    })) ?? [];
  return file === undefined ? undefined : { file };
}

/** Returns the entry for the batch's own scorer; none for a recording, which has none. */
async function ownItem(server: Services['server'], row: BatchRow): Promise<(vscode.QuickPickItem & ScorerChoice)[]> {
  if (row.imported) return [];
  const { scorer } = await submissionOf((await server.connection()).api, row);
  return [
    {
      label: `$(debug-rerun) Scorer of the Batch: ${scorer.name ?? scorer.kind}`,
      description: 'with its current code',
      file: undefined,
    },
  ];
}

async function rescore(
  services: Services,
  values: StoredValues,
  { batch, name }: BatchRow,
  { file }: ScorerChoice,
): Promise<void> {
  const folder = file === undefined ? vscode.workspace.workspaceFolders?.[0]?.uri : folderOf(file);
  if (folder === undefined)
    throw new StudioError('usage', 'Open a folder before you score a batch again.', {
      hint: 'Open the folder that the batch was launched from.',
    });
  if ((file ?? folder).scheme !== 'file')
    throw new StudioError('unsupported', 'Batches can be scored again only with files on disk.', {
      hint: 'Open the folder on the machine that has the file.',
    });
  await vscode.workspace.saveAll(false); // the CLI reads files from disk
  const launched = await withProgress(`Rescoring ${name}`, async ({ signal, report }) => {
    // Start the server here, so that it does not inherit the values of this launch.
    await services.server.connection({ start: true, signal });
    const ask: AskValue = (wanted) => {
      report(`Waiting for the value of ${wanted}`); // replaces the last message of the CLI
      return askValue(wanted);
    };
    const scorer = file === undefined ? [] : ['--scorer', file.fsPath];
    const { result } = await withValues(values, [], ask, (env) =>
      services.cli.json(['rescore', batch, '--detach', ...scorer], {
        cwd: folder.fsPath,
        env,
        signal,
        onProgress: report,
      }),
    );
    return reply.parse(result);
  });
  services.log.info(`${launched.batch} scores ${plural(launched.attempts, 'attempt')} of ${batch} again`);
  services.batches.refresh();
  if (launched.notes.length > 0) void vscode.window.showWarningMessage(launched.notes.join(' '));
  if (setting('launch.openPage')) await services.pages.open({ page: 'batch', batch: launched.batch });
  else {
    const by = file === undefined ? 'its own scorer' : path.basename(file.fsPath);
    const text = `Scoring ${plural(launched.attempts, 'attempt')} of ${name} again by ${by}.`;
    if ((await vscode.window.showInformationMessage(text, 'Open')) !== undefined)
      await services.pages.open({ page: 'batch', batch: launched.batch });
  }
}

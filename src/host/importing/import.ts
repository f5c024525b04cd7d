/** Implements Import…, which imports recordings from other tools. Each file becomes a batch. */
import path from 'node:path';
import * as vscode from 'vscode';
import { z } from 'zod';
import { plural } from '../../common/text.ts';
import type { CommandGroup, Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';

const skippedRecord = z.object({ place: z.string(), why: z.string() });
const importReport = z.object({
  batch: z.string(),
  tasks: z.array(z.string()),
  rollouts: z.number().int(),
  skipped: z.array(skippedRecord),
});
type ImportReport = z.infer<typeof importReport>;

export function importCommands(services: Services): CommandGroup<'rollout.import'> {
  return {
    'rollout.import': async (argument) => {
      const files = argument instanceof vscode.Uri ? [argument] : await pickFiles();
      if (files === undefined) return;
      const results = await importAll(
        services,
        files.map((file) => file.fsPath),
      );
      services.batches.refresh();
      const last = results.at(-1);
      if (last !== undefined) await openImported(services, last.result);
      for (const { file, result } of results) void reportSkipped(services, file, result);
    },
  };
}

/** Opens the page of the batch, or of its only trajectory. */
async function openImported({ pages }: Services, { batch, tasks, rollouts }: ImportReport): Promise<void> {
  const [task] = tasks;
  if (task === undefined || rollouts !== 1) await pages.open({ page: 'batch', batch });
  else await vscode.commands.executeCommand('rollout.openTrajectory', { batch, task, attempt: 1 });
}

function pickFiles(): Thenable<vscode.Uri[] | undefined> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  return vscode.window.showOpenDialog({
    title: 'Import Recordings',
    openLabel: 'Import',
    canSelectMany: true,
    filters: { Recordings: ['json', 'jsonl'], 'All Files': ['*'] },
    ...(folder === undefined ? {} : { defaultUri: folder }),
  });
}

interface ImportedFile {
  readonly file: string;
  readonly result: ImportReport;
}

/** Imports the files one by one. An unreadable file stops the import; files imported before it are kept. */
async function importAll(services: Services, files: readonly string[]): Promise<ImportedFile[]> {
  const { cli, server } = services;
  return withProgress(
    files.length === 1 ? `Importing ${path.basename(files[0] ?? '')}` : `Importing ${files.length} files`,
    async ({ signal, report }) => {
      await server.connection({ start: true, signal });
      const imports: ImportedFile[] = [];
      for (const [index, file] of files.entries()) {
        if (files.length > 1) report(`${index + 1} of ${files.length}: ${path.basename(file)}`);
        imports.push({
          file,
          result: importReport.parse(await cli.json(['import', file], { cwd: path.dirname(file), signal })),
        });
      }
      return imports;
    },
  );
}

async function reportSkipped(
  { log }: Services,
  file: string,
  { tasks, rollouts, skipped }: ImportReport,
): Promise<void> {
  const name = path.basename(file);
  const [first] = skipped;
  if (first === undefined) {
    void vscode.window.showInformationMessage(
      `${name}: ${plural(tasks.length, 'task')}, ` + `${plural(rollouts, 'trajectory', 'trajectories')}.`,
    );
    return;
  }
  for (const { place, why } of skipped) log.warn(`${file}: skipped ${place}: ${why}`);
  const text =
    `${name}: ${plural(skipped.length, 'record')} ${skipped.length === 1 ? 'was' : 'were'} skipped. ` +
    `${first.place}: ${first.why}`;
  if ((await vscode.window.showWarningMessage(text, 'Show All')) !== undefined) log.show(true);
}

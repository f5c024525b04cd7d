/** Implements Export…: asks for format and selection, shows a preview, and writes the file through the CLI. */
import os from 'node:os';
import path from 'node:path';
import * as vscode from 'vscode';
import { StudioError } from '../../../common/errors.ts';
import { plural } from '../../../common/text.ts';
import type { BatchRow } from '../../../protocol/client.ts';
import type { CommandGroup, Services } from '../../services.ts';
import { withProgress } from '../../window/progress.ts';
import { BACK } from '../../window/questions/answer.ts';
import { pickOne } from '../../window/questions/dialogue.ts';
import { pickBatch } from '../pickBatch.ts';
import { askChange } from './askChange.ts';
import {
  changeEntries,
  type ExportChoices,
  endingOf,
  exportArguments,
  exportPreview,
  exportReply,
  formatChoices,
  previewSummary,
  previewText,
} from './choices.ts';
import type { ExportPreviews } from './previews.ts';

const STEPS = 3;

export function exportCommands(services: Services, previews: ExportPreviews): CommandGroup<'rollout.exportAttempts'> {
  return {
    'rollout.exportAttempts': async (argument) => {
      const batch = await pickBatch(services, argument, { title: 'Export', applies: () => true, direct: true });
      if (batch !== undefined) await exportBatch(services, previews, await services.batches.get(batch));
    },
  };
}

async function exportBatch(services: Services, previews: ExportPreviews, row: BatchRow): Promise<void> {
  const title = `Export ${row.name}`;
  let choices: ExportChoices | undefined;
  let step: 'format' | 'selection' | 'confirm' = 'format';
  for (;;) {
    if (step === 'format' || choices === undefined) {
      const format = await askFormat(title, choices?.format);
      if (format === undefined || format === BACK) return;
      // The rules of one format may be unknown to another.
      choices = { format, selection: choices?.selection ?? {} };
      step = 'selection';
    } else if (step === 'selection') {
      const changed = await askSelection(title, choices);
      if (changed === undefined) return;
      if (changed === BACK) step = 'format';
      else if (changed === 'preview') step = 'confirm';
      else choices = changed;
    } else {
      const answer = await preview(services, previews, row, choices);
      if (answer === undefined) return;
      if (answer === BACK) step = 'selection';
      else {
        await write(services, row, choices);
        return;
      }
    }
  }
}

async function askFormat(title: string, current: string | undefined): Promise<string | typeof BACK | undefined> {
  const formats = formatChoices();
  return pickOne(
    { title, step: 1, steps: STEPS },
    formats.map(({ id, label, detail }) => ({ label, description: id, detail, value: id })),
    {
      placeholder: 'Select the format',
      active: Math.max(
        0,
        formats.findIndex(({ id }) => id === current),
      ),
    },
  );
}

async function askSelection(
  title: string,
  choices: ExportChoices,
): Promise<ExportChoices | 'preview' | typeof BACK | undefined> {
  const place = { title, step: 2, steps: STEPS };
  const change = await pickOne(
    place,
    [
      {
        label: 'Preview',
        icon: 'preview',
        description: 'show counts and the first lines; write nothing',
        value: 'preview' as const,
      },
      ...changeEntries(choices),
    ],
    { placeholder: 'Continue, or change what is exported', active: 0 },
  );
  if (change === undefined || change === BACK || change === 'preview') return change;
  const changed = await askChange(place, choices, change);
  return changed === BACK ? choices : changed;
}

/** Shows the preview next to the question whether to write. */
async function preview(
  services: Services,
  previews: ExportPreviews,
  row: BatchRow,
  choices: ExportChoices,
): Promise<'write' | typeof BACK | undefined> {
  const shown = await withProgress(`Reading ${row.name}`, async ({ signal, report }) =>
    exportPreview.parse(
      await services.cli.json([...exportArguments(row.batch, choices), '--preview'], {
        cwd: folder()?.fsPath ?? os.homedir(),
        signal,
        onProgress: report,
      }),
    ),
  );
  await previews.show(row, previewText(row.name, choices, shown));
  const answer = await pickOne(
    { title: `Export ${row.name}`, step: 3, steps: STEPS },
    [
      { label: 'Export to File…', icon: 'export', description: previewSummary(shown), value: 'write' as const },
      { label: 'Change the Selection', icon: 'filter', value: 'change' as const },
    ],
    { placeholder: 'Nothing is written yet' },
  );
  return answer === 'change' ? BACK : answer;
}

async function write({ cli, log }: Services, row: BatchRow, choices: ExportChoices): Promise<void> {
  const ending = endingOf(choices.format);
  const suffix = choices.format === 'csv' || choices.format === 'parquet' ? '' : `.${choices.format}`;
  const fileName = `${row.name.replace(/[^\w.-]+/g, '-')}${suffix}.${ending}`;
  const at = folder();
  const target = await vscode.window.showSaveDialog({
    title: `Export ${row.name}`,
    saveLabel: 'Export',
    filters: { [ending.toUpperCase()]: [ending] },
    ...(at === undefined ? {} : { defaultUri: vscode.Uri.joinPath(at, fileName) }),
  });
  if (target === undefined) return;
  if (target.scheme !== 'file')
    throw new StudioError('unsupported', 'Attempts can be exported only to a folder on the machine of the extension.');
  const written = await withProgress(`Exporting ${row.name}`, async ({ signal, report }) =>
    exportReply.parse(
      await cli.json([...exportArguments(row.batch, choices), '--out', target.fsPath], {
        cwd: path.dirname(target.fsPath),
        signal,
        onProgress: report,
      }),
    ),
  );
  log.info(`exported ${plural(written.attempts, 'attempt')} of ${row.batch} as ${choices.format}`);
  const actions = [...(ending === 'parquet' ? [] : ['Open']), 'Reveal', 'Open Manifest'];
  const show = await vscode.window.showInformationMessage(
    `Exported ${plural(written.attempts, 'attempt')} of ${row.name} to ${path.basename(target.fsPath)}.`,
    ...actions,
  );
  if (show === 'Open') await vscode.commands.executeCommand('vscode.open', target);
  if (show === 'Reveal') await vscode.commands.executeCommand('revealFileInOS', target);
  if (show === 'Open Manifest') {
    const { dir, name } = path.parse(target.fsPath);
    await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(path.join(dir, `${name}.manifest.json`)));
  }
}

function folder(): vscode.Uri | undefined {
  return vscode.workspace.workspaceFolders?.find((candidate) => candidate.uri.scheme === 'file')?.uri;
}

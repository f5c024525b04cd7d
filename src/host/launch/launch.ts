/** Implements the launch commands. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { pickBatch } from '../batches/pickBatch.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import { exists } from '../files/workspaceFiles.ts';
import type { CommandGroup, Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { BACK } from '../window/questions/answer.ts';
import { pickOne } from '../window/questions/dialogue.ts';
import type { WorkspaceWorlds } from '../worlds/workspaceWorlds.ts';
import { type LaunchTarget, launchTarget } from './argument.ts';
import { askLaunch } from './askLaunch.ts';
import { batchFiles, fileOf } from './batchFiles.ts';
import { type LineTask, tasksOfLine } from './datasetLine.ts';
import { type LauncherParts, launchBatch } from './launcher.ts';
import { LaunchMemory } from './memory.ts';
import type { ChosenTasks, LaunchAnswers } from './plan.ts';
import { allTasks, failedTasks, submissionOf } from './relaunch.ts';
import { reviewAgain, roomAt } from './review.ts';
import type { StoredValues } from './values/storedValues.ts';

/** State that the launch commands share in this window. */
export interface LaunchState {
  readonly memory: LaunchMemory;
  readonly values: StoredValues;
}

interface Parts extends LauncherParts {
  readonly files: StudioFiles;
  readonly worlds: Pick<WorkspaceWorlds, 'meters'>;
}

type LaunchCommand =
  | 'rollout.launchBatch'
  | 'rollout.launchTask'
  | 'rollout.launchAgain'
  | 'rollout.runFailedAgain'
  | 'rollout.forgetSecrets';

export function launchCommands(
  services: Services,
  shared: Omit<Parts, 'services' | 'memory'>,
): CommandGroup<LaunchCommand> {
  const parts: Parts = { services, memory: new LaunchMemory(services.context.workspaceState), ...shared };
  return {
    'rollout.launchBatch': async (argument) => {
      const target = launchTarget(argument);
      await (target?.kind === 'task' ? launchTask(parts, target) : askAndLaunch(parts, target));
    },
    'rollout.launchTask': async (argument) => {
      const target = launchTarget(argument);
      if (target?.kind === 'task') await launchTask(parts, target);
      else if (target?.tasks !== undefined) await askAndLaunch(parts, target);
      else await launchLine(parts);
    },
    'rollout.launchAgain': async (argument) => {
      const batch = await pickBatch(services, argument, { title: 'Launch Again', applies: (row) => !row.imported });
      if (batch !== undefined) await launchAgain(parts, batch, 'all');
    },
    'rollout.runFailedAgain': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Run Failed Again',
        applies: (row) => !row.imported && row.counts.failed > 0,
      });
      if (batch !== undefined) await launchAgain(parts, batch, 'failed');
    },
    'rollout.forgetSecrets': async () => {
      const count = await parts.values.deleteAll();
      void vscode.window.showInformationMessage(
        count === 0 ? 'No values are stored.' : `${count} stored ${count === 1 ? 'value was' : 'values were'} removed.`,
      );
    },
  };
}

/** Asks the remaining questions and launches. */
async function askAndLaunch(parts: Parts, target: Extract<LaunchTarget, { kind: 'file' }> | undefined): Promise<void> {
  // Let the server start during the questions. The launch reports its errors.
  parts.services.server.connection().catch(() => undefined);
  const choice = await askLaunch(
    {
      files: target === undefined ? await batchFiles(parts.files, parts.memory) : [],
      target: parts.services.server.target,
      meters: () => parts.worlds.meters(),
      room: (launch) => roomAt(parts.services, launch),
      ...(target === undefined ? {} : { file: vscode.Uri.file(target.file) }),
      ...(target?.tasks === undefined ? {} : { tasks: target.tasks }),
    },
    parts.memory,
  );
  if (choice !== undefined) await launchBatch(parts, { ...choice, forgetAnswers: target?.tasks !== undefined });
}

/** Launches the same task from the file of the batch. */
async function launchTask(
  parts: Parts,
  { batch, task }: { readonly batch: string; readonly task: string },
): Promise<void> {
  const { file } = await origin(parts, batch);
  await askAndLaunch(parts, { kind: 'file', file: file.fsPath, tasks: { kind: 'some', ids: [task] } });
}

/** Launches the task on the line of the cursor. */
async function launchLine(parts: Parts): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) throw new StudioError('usage', 'Place the cursor on a line of a dataset first.');
  const matches = await tasksOfLine(
    editor.document.uri,
    editor.selection.active.line + 1,
    await batchFiles(parts.files, parts.memory),
  );
  const chosen = await pickMatch(matches);
  if (chosen !== undefined)
    await askAndLaunch(parts, { kind: 'file', file: chosen.file.fsPath, tasks: { kind: 'some', ids: [chosen.task] } });
}

async function pickMatch(matches: readonly LineTask[]): Promise<LineTask | undefined> {
  if (matches.length < 2) return matches[0];
  const choices = matches.map((value) => ({
    label: vscode.workspace.asRelativePath(value.file),
    description: value.task,
    value,
  }));
  const chosen = await pickOne({ title: 'Launch on This Task', step: 1, steps: 1 }, choices, {
    placeholder: 'Select a batch file',
  });
  return chosen === BACK ? undefined : chosen;
}

async function launchAgain(parts: Parts, batch: string, selection: 'all' | 'failed'): Promise<void> {
  const source = await origin(parts, batch);
  const answers =
    selection === 'all' ? source.answers : { ...source.answers, tasks: await failedOf(parts, batch, source.name) };
  if (answers.tasks.kind === 'some' && answers.tasks.ids.length === 0) return;
  const title = `${selection === 'all' ? 'Launch Again' : 'Run Failed Again'}: ${source.name}`;
  if (await reviewAgain(parts.services, { title, file: source.file, answers }))
    await launchBatch(parts, { file: source.file, answers, forgetAnswers: true });
}

async function failedOf({ services }: Parts, batch: string, name: string): Promise<ChosenTasks> {
  const ids = await withProgress('Looking for failed attempts', async ({ signal }) =>
    failedTasks((await services.server.connection({ signal })).api, batch, signal),
  );
  if (ids.length === 0) void vscode.window.showInformationMessage(`No attempts of ${name} failed.`);
  return { kind: 'some', ids };
}

interface Origin {
  readonly file: vscode.Uri;
  readonly name: string;
  readonly answers: LaunchAnswers;
}

/** Finds the origin of a batch, from memory or from its submission. */
async function origin({ services, memory, files }: Parts, batch: string): Promise<Origin> {
  const row = await services.batches.get(batch);
  const stored = memory.batch(batch);
  if (stored !== undefined && (await exists(vscode.Uri.file(stored.file))))
    return { file: vscode.Uri.file(stored.file), name: row.name, answers: stored.answers };
  const { api } = await services.server.connection();
  const submission = await submissionOf(api, row);
  return {
    file: await fileOf(submission, files),
    name: row.name,
    answers: { tasks: await allTasks(api, batch), attempts: row.attempts },
  };
}

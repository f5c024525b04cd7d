/** Launches a batch from the user's answers and opens its page. */

import path from 'node:path';
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { nounFor, sentence } from '../../common/text.ts';
import type { Problem } from '../../config/source/problem.ts';
import { folderOf } from '../files/workspaceFiles.ts';
import type { Services } from '../services.ts';
import type { FileProblems } from '../window/problems.ts';
import { withProgress } from '../window/progress.ts';
import { setting } from '../window/settings.ts';
import type { LaunchMemory } from './memory.ts';
import { answersText, attemptCount, type FileFacts, type LaunchAnswers } from './plan.ts';
import { runBatch } from './runBatch.ts';
import { askValue } from './values/askValue.ts';
import type { StoredValues } from './values/storedValues.ts';
import { type AskValue, withValues } from './values/withValues.ts';

export interface LauncherParts {
  readonly services: Services;
  readonly memory: LaunchMemory;
  readonly values: StoredValues;
  readonly problems: FileProblems;
}

interface LaunchRequest {
  readonly file: vscode.Uri;
  readonly answers: LaunchAnswers;
  /** For confirming large batches; without it, there is no confirmation. */
  readonly facts?: FileFacts;
  /** Whether the user has confirmed it. */
  readonly reviewed?: boolean;
  /** The target to switch the window to; defaults to the current one. */
  readonly target?: string;
  /** If set, the answers are not offered for the next launch. */
  readonly forgetAnswers?: boolean;
}

/** Launches the batch, remembers the answers, and opens the page. Throws the errors of the CLI. */
export async function launchBatch(parts: LauncherParts, request: LaunchRequest): Promise<void> {
  const { services, memory, values, problems } = parts;
  const { file, answers, facts } = request;
  if (file.scheme !== 'file')
    throw new StudioError('unsupported', 'Batches can be launched only from files on disk.', {
      hint: 'Open the folder on the machine that has the file.',
    });
  if (facts !== undefined && request.reviewed !== true && !(await confirmLaunch(answers, facts))) return;
  if (request.target !== undefined && request.target !== services.server.target)
    await services.settings.switchTarget(request.target);
  // The CLI reads files from disk.
  await vscode.workspace.saveAll(false);
  const previous = memory.file(file.fsPath);
  let warnings: readonly Problem[] = [];
  const { result: batch, names } = await withProgress(
    `Launching ${path.basename(file.fsPath)}`,
    async ({ signal, report }) => {
      // Start the server here, so that it does not inherit the values of this launch.
      await services.server.connection({ start: true, signal });
      const ask: AskValue = (name) => {
        report(`Waiting for the value of ${name}`); // replaces the last message of the CLI
        return askValue(name);
      };
      return withValues(values, previous?.values ?? [], ask, (env) =>
        runBatch(services.cli, {
          file: file.fsPath,
          cwd: folderOf(file).fsPath,
          answers,
          env,
          signal,
          onProgress: report,
          onWarnings: (found) => {
            warnings = found;
          },
        }),
      );
    },
  );
  problems.show(warnings);
  warnOfValues(path.basename(file.fsPath), warnings);
  services.log.info(`Launched ${file.fsPath} as ${batch}: ${answersText(answers, facts)}`);
  await memory.storeBatch({ batch, file: file.fsPath, answers });
  await memory.storeFile({
    file: file.fsPath,
    answers: request.forgetAnswers === true ? (previous?.answers ?? { tasks: { kind: 'all' } }) : answers,
    values: [...names],
  });
  services.batches.refresh();
  if (setting('launch.openPage')) await services.pages.open({ page: 'batch', batch });
  else void offerPage(services, path.basename(file.fsPath), batch);
}

/** Warns of values that cannot be hidden: they may be secret, and the batch already runs. */
function warnOfValues(name: string, warnings: readonly Problem[]): void {
  const texts = warnings.filter(({ code }) => code === 'env').map(({ message }) => message);
  if (texts.length > 0) void vscode.window.showWarningMessage(sentence(`Launched ${name}, but ${texts.join('; ')}`));
}

async function offerPage({ pages }: Services, name: string, batch: string): Promise<void> {
  if ((await vscode.window.showInformationMessage(`Launched ${name}.`, 'Open')) !== undefined)
    await pages.open({ page: 'batch', batch });
}

async function confirmLaunch(answers: LaunchAnswers, facts: FileFacts): Promise<boolean> {
  const count = attemptCount(answers, facts);
  const all = facts.complete || answers.tasks.kind !== 'all';
  if (count <= setting('launch.confirmAbove') && all) return true;
  const text = `Launch ${all ? '' : 'more than '}${count.toLocaleString('en')} ${nounFor(count, 'attempt')}?`;
  return (
    (await vscode.window.showWarningMessage(
      text,
      { modal: true, detail: `${answersText(answers, facts)}. Each attempt calls a model.` },
      'Launch',
    )) === 'Launch'
  );
}

/** Lists the batch files in the workspace, recently launched ones first. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import type { Submission } from '../../config/submission.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { LaunchMemory } from './memory.ts';

/** Throws StudioError `not_found` if there are none. */
export async function batchFiles(files: StudioFiles, memory: LaunchMemory): Promise<readonly vscode.Uri[]> {
  let found = await files.list('batch');
  if (found.length === 0) {
    // The watcher reports new files with a delay.
    files.refresh();
    found = await files.list('batch');
  }
  if (found.length === 0)
    throw new StudioError('not_found', 'This workspace has no batch file (*.batch.yaml).', {
      hint: 'Run Rollout: New Batch… or Rollout: Create Sample Workspace.',
    });
  const recent = memory.files.map(({ file }) => file);
  const rank = (uri: vscode.Uri): number => {
    const at = recent.indexOf(uri.fsPath);
    return at === -1 ? recent.length : at;
  };
  const active = vscode.window.activeTextEditor?.document.uri.toString();
  return [...found].sort(
    (a, b) => Number(b.toString() === active) - Number(a.toString() === active) || rank(a) - rank(b),
  );
}

/** Finds the workspace file that a batch was launched from. Throws StudioError `not_found`. */
export async function fileOf(submission: Submission, files: StudioFiles): Promise<vscode.Uri> {
  const listed = await files.list('batch');
  const matches = listed.filter((uri) => uri.path === submission.file || uri.path.endsWith(`/${submission.file}`));
  const [only] = matches;
  if (only === undefined || matches.length > 1) {
    throw new StudioError(
      'not_found',
      matches.length > 1
        ? `Several files in this workspace are named ${submission.file}.`
        : `The batch file ${submission.file} is not in this workspace.`,
      { hint: 'Open the folder it was launched from, or launch a file with Rollout: Launch Batch….' },
    );
  }
  return only;
}

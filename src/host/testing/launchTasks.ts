/** Launches tasks of a batch file, like the launch commands. */
import type * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { folderOf } from '../files/workspaceFiles.ts';
import type { LaunchState } from '../launch/launch.ts';
import type { LaunchAnswers } from '../launch/plan.ts';
import { runBatch } from '../launch/runBatch.ts';
import { askValue } from '../launch/values/askValue.ts';
import { withValues } from '../launch/values/withValues.ts';
import type { Services } from '../services.ts';

/** Returns the batch's ID. */
export async function launchTasks(
  { cli, server }: Services,
  { memory, values }: LaunchState,
  { uri }: vscode.TestItem,
  tasks: 'all' | readonly string[],
  signal: AbortSignal,
): Promise<string> {
  if (uri?.scheme !== 'file')
    throw new StudioError('unsupported', 'Batches can be launched only from files on disk.', {
      hint: 'Open the folder on the machine that has the file.',
    });
  const file = uri.fsPath;
  const answers: LaunchAnswers = { tasks: tasks === 'all' ? { kind: 'all' } : { kind: 'some', ids: [...tasks] } };
  // Start the server here, so that it does not inherit the values of this launch.
  await server.connection({ start: true, signal });
  const launchedFile = memory.file(file);
  // A cancelled run does not abort the launch, because the batch may already be submitted. The run cancels it when it
  // has the ID.
  const { result: batch } = await withValues(values, launchedFile?.values ?? [], askValue, (env) =>
    runBatch(cli, { file, cwd: folderOf(uri).fsPath, answers, env }),
  );
  await memory.storeBatch({ batch, file, answers });
  return batch;
}

/** Launches some tasks of a batch file, as the launch commands do. */
import type * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { folderOf } from '../files/workspaceFiles.ts';
import type { LaunchState } from '../launch/launch.ts';
import type { LaunchAnswers } from '../launch/plan.ts';
import { runBatch } from '../launch/runBatch.ts';
import { askValue } from '../launch/values/askValue.ts';
import { withValues } from '../launch/values/withValues.ts';
import type { Services } from '../services.ts';

/** Gives the batch's id. */
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
  // Started from here, so that no value of this launch gets into the server's environment.
  await server.connection({ start: true, signal });
  const known = memory.file(file);
  // Not broken off by a cancelled run: the batch may be submitted already, and nobody would stop it. The run stops it
  // once its id is known.
  const { result: batch } = await withValues(values, known?.values ?? [], askValue, (env) =>
    runBatch(cli, { file, cwd: folderOf(uri).fsPath, answers, env }),
  );
  await memory.keepBatch({ batch, file, answers });
  return batch;
}

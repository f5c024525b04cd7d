/** Writes the editor types of `rollout-studio` for a new module. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import type { Services } from '../services.ts';

/** Runs `rollout check`, which writes the types. Not awaited, so that the module opens at once. */
export function writeTypes({ cli, log }: Pick<Services, 'cli' | 'log'>, folder: vscode.Uri): void {
  if (!vscode.workspace.isTrusted || folder.scheme !== 'file') return;
  // Ignore problems in other files.
  cli
    .json(['check'], { cwd: folder.fsPath })
    .catch((error: unknown) => log.debug(`Types for modules: ${errorText(error)}`));
}

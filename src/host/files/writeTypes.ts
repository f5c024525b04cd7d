/** What an editor needs to know of `rollout-studio`, for a module that was just made. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import type { Services } from '../services.ts';

/** The check of a workspace writes it. Not awaited: the module can be looked at meanwhile. */
export function writeTypes({ cli, log }: Pick<Services, 'cli' | 'log'>, folder: vscode.Uri): void {
  if (!vscode.workspace.isTrusted || folder.scheme !== 'file') return;
  // Problems of other files are not asked for here.
  cli
    .json(['check'], { cwd: folder.fsPath })
    .catch((thrown: unknown) => log.debug(`Types for modules: ${errorText(thrown)}`));
}

/** Writes the types for editors: of `rollout-studio`, zod, and Node.js with its test runner. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import type { Services } from '../services.ts';

/**
 * Runs `rollout check`, which writes the types. Resolves when they exist; a new module need not wait for them. Never
 * rejects.
 */
export async function writeTypes({ cli, log }: Pick<Services, 'cli' | 'log'>, folder: vscode.Uri): Promise<void> {
  if (!vscode.workspace.isTrusted || folder.scheme !== 'file') return;
  // Ignore problems in other files.
  await cli
    .json(['check'], { cwd: folder.fsPath })
    .catch((error: unknown) => log.debug(`Types for modules: ${errorText(error)}`));
}

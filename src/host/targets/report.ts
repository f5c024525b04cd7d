/** Shows a message after a target was added or installed, with the next action. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { blockingProblem, hasServer } from './findings.ts';
import { targetFindings } from './targetCli.ts';

const USE = 'Use This Target';
const INSTALL = 'Install…';

/** Checks the target and offers the next action. */
export async function reportAdded({ cli }: Services, name: string): Promise<void> {
  const findings = await withProgress(`Checking ${name}`, ({ signal }) => targetFindings(cli, name, signal));
  const problem = blockingProblem(findings);
  if (problem !== undefined)
    void vscode.window.showWarningMessage(`Added target ${name}, but it is not ready. ${errorText(problem)}`);
  else if (hasServer(findings) === true)
    void offerAction(`Added target ${name}. Its rollout server is running.`, name, USE);
  else void offerAction(`Added target ${name}. It has no rollout server yet.`, name, INSTALL);
}

export async function reportInstalled({ server }: Services, name: string, text: string): Promise<void> {
  if (server.target !== name) {
    void offerAction(`${text} This window still uses ${server.target}.`, name, USE);
    return;
  }
  void vscode.window.showInformationMessage(text);
  await server.connection({ start: true });
}

/** Not awaited, because the message can stay open for long. */
async function offerAction(text: string, name: string, action: typeof USE | typeof INSTALL): Promise<void> {
  if ((await vscode.window.showInformationMessage(text, action)) !== action) return;
  await (action === USE
    ? vscode.commands.executeCommand('rollout.useTarget', name)
    : vscode.commands.executeCommand('rollout.installTarget', name));
}

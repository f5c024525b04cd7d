/** Shows a message after a target was added or installed, with the next action. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { hasServer, troubleOf } from './findings.ts';
import { targetFindings } from './targetCli.ts';

const USE = 'Use This Target';
const INSTALL = 'Install…';

/** Checks the target and offers the next action. */
export async function reportAdded({ cli }: Services, name: string): Promise<void> {
  const findings = await withProgress(`Looking at ${name}`, ({ signal }) => targetFindings(cli, name, signal));
  const trouble = troubleOf(findings);
  if (trouble !== undefined)
    void vscode.window.showWarningMessage(`Added target ${name}, but it is not ready. ${errorText(trouble)}`);
  else if (hasServer(findings) === true) void offer(`Added target ${name}. Its rollout server is running.`, name, USE);
  else void offer(`Added target ${name}. It has no rollout server yet.`, name, INSTALL);
}

export async function tellInstalled({ server }: Services, name: string, done: string): Promise<void> {
  if (server.target !== name) {
    void offer(`${done} This window still uses ${server.target}.`, name, USE);
    return;
  }
  void vscode.window.showInformationMessage(done);
  await server.connection({ start: true });
}

/** Not awaited, because the message can stay open for long. */
async function offer(text: string, name: string, what: typeof USE | typeof INSTALL): Promise<void> {
  if ((await vscode.window.showInformationMessage(text, what)) !== what) return;
  await (what === USE
    ? vscode.commands.executeCommand('rollout.useTarget', name)
    : vscode.commands.executeCommand('rollout.installTarget', name));
}

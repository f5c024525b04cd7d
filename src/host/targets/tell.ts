/** What one hears after a target was added or installed, with what one would do next. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import type { Services } from '../services.ts';
import { withProgress } from '../window/progress.ts';
import { hasServer, troubleOf } from './findings.ts';
import { targetFindings } from './targetCli.ts';

const USE = 'Use This Target';
const INSTALL = 'Install…';

/** Looks at the target, and offers what makes sense there. */
export async function tellAdded({ cli }: Services, name: string): Promise<void> {
  const findings = await withProgress(`Looking at ${name}`, ({ signal }) => targetFindings(cli, name, signal));
  const trouble = troubleOf(findings);
  if (trouble !== undefined)
    void vscode.window.showWarningMessage(`The target ${name} was added. ${errorText(trouble)}`);
  else if (hasServer(findings) === true)
    void offer(`The target ${name} was added; its rollout server answers.`, name, USE);
  else void offer(`The target ${name} was added. There is no rollout server in it yet.`, name, INSTALL);
}

export async function tellInstalled({ server }: Services, name: string, done: string): Promise<void> {
  if (server.target !== name) {
    void offer(`${done} This window still works with ${server.target}.`, name, USE);
    return;
  }
  void vscode.window.showInformationMessage(done);
  await server.connection({ start: true });
}

/** Not awaited: it may stand there for long. */
async function offer(text: string, name: string, what: typeof USE | typeof INSTALL): Promise<void> {
  if ((await vscode.window.showInformationMessage(text, what)) !== what) return;
  await (what === USE
    ? vscode.commands.executeCommand('rollout.useTarget', name)
    : vscode.commands.executeCommand('rollout.installTarget', name));
}

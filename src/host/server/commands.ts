/** Implements Start Server and Show Log. */
import * as vscode from 'vscode';
import type { RegisterCommand, Services } from '../services.ts';

export function registerServer({ server, log }: Services, register: RegisterCommand): vscode.Disposable {
  return vscode.Disposable.from(
    register('rollout.startServer', async () => {
      await vscode.window.withProgress(
        { location: vscode.ProgressLocation.Window, title: 'Starting the rollout server' },
        () => server.connection({ start: true }),
      );
    }),
    register('rollout.showLog', async () => {
      // If this command activates the extension, VS Code does not know the channel yet and would show nothing.
      await vscode.commands.executeCommand('workbench.panel.output.focus');
      log.show();
    }),
  );
}

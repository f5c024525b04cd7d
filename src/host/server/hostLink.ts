/** The server link of this window: settings, trust, and what is told to the user. */
import * as vscode from 'vscode';
import { SECTION } from '../contributions/settings.ts';
import type { Log } from '../window/log.ts';
import { chosenStore } from '../window/settings.ts';
import type { ServerLink } from '../services.ts';
import { LocalServerLink } from './serverLink.ts';

export type HostLink = ServerLink & { dispose(): void };

export function createServerLink(log: Log): HostLink {
  const link = new LocalServerLink({
    store: chosenStore,
    trusted: () => vscode.workspace.isTrusted,
    connect: async (options) => (await import('../../client/connect.ts')).connect(options),
    log: (text) => log.channel.info(text),
    stopped: (text) => void tellStopped(text, log),
    notice: (text) => {
      log.channel.warn(text);
      void vscode.window.showWarningMessage(text);
    },
  });
  link.during(vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(`${SECTION}.store`)) link.reset();
  }));
  return link;
}

async function tellStopped(text: string, log: Log): Promise<void> {
  const chosen = await vscode.window.showWarningMessage(text, 'Start Again', 'Show Log');
  if (chosen === 'Start Again') await vscode.commands.executeCommand('rollout.startServer');
  else if (chosen === 'Show Log') log.channel.show(true);
}

/** The server link of this window: settings, trust, and what is told to the user. */
import * as vscode from 'vscode';
import type { ConnectOptions } from '../../client/connect.ts';
import { LOCAL } from '../../client/targets/local.ts';
import { SECTION } from '../contributions/settings.ts';
import type { Log } from '../window/log.ts';
import { chosenStore, chosenTarget } from '../window/settings.ts';
import type { ServerLink } from '../services.ts';
import { WindowServerLink, type HeldConnection } from './serverLink.ts';

export type HostLink = ServerLink & { dispose(): void };

export function createServerLink(log: Log): HostLink {
  const link = new WindowServerLink({
    store: chosenStore,
    target: chosenTarget,
    trusted: () => vscode.workspace.isTrusted,
    connect: connectTo,
    log: (text) => log.channel.info(text),
    stopped: (text) => void tellStopped(text, log),
    notice: (text) => {
      log.channel.warn(text);
      void vscode.window.showWarningMessage(text);
    },
  });
  link.during(vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(`${SECTION}.store`) || event.affectsConfiguration(`${SECTION}.target`)) link.reset();
  }));
  return link;
}

async function connectTo(target: string, options: ConnectOptions): Promise<HeldConnection> {
  if (target === LOCAL) return (await import('../../client/connect.ts')).connect(options);
  const [{ connectTarget }, { TargetFile }] = await Promise.all([import('../../client/targets/connectTarget.ts'), import('../../client/targets/targetFile.ts')]);
  return connectTarget(target, new TargetFile().get(target), { env: process.env, ...options });
}

async function tellStopped(text: string, log: Log): Promise<void> {
  const chosen = await vscode.window.showWarningMessage(text, 'Start Again', 'Show Log');
  if (chosen === 'Start Again') await vscode.commands.executeCommand('rollout.startServer');
  else if (chosen === 'Show Log') log.channel.show(true);
}

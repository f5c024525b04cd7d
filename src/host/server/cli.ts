/** The command line for this window. */
import * as vscode from 'vscode';
import type { Cli } from '../services.ts';
import type { Log } from '../window/log.ts';
import { cliOf } from './runCli.ts';

export function createCli(log: Log, { store, target }: { readonly store: () => string; readonly target: () => string }): Cli {
  return cliOf({ store, target, trusted: () => vscode.workspace.isTrusted, log: (text) => log.channel.debug(text) });
}

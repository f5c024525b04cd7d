/** The command line for this window. */
import * as vscode from 'vscode';
import type { Cli } from '../services.ts';
import type { Log } from '../window/log.ts';
import { cliOf } from './runCli.ts';

export function createCli(log: Log, store: () => string): Cli {
  return cliOf({ store, trusted: () => vscode.workspace.isTrusted, log: (text) => log.channel.debug(text) });
}

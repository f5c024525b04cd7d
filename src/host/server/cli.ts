/** Creates the CLI runner of this window. */
import * as vscode from 'vscode';
import type { Cli } from '../services.ts';
import type { TargetTokens } from '../targets/address/targetTokens.ts';
import type { Log } from '../window/log.ts';
import { cliOf } from './runCli.ts';

export function createCli(
  log: Log,
  {
    store,
    target,
    tokens,
  }: { readonly store: () => string; readonly target: () => string; readonly tokens: TargetTokens },
): Cli {
  return cliOf({
    store,
    target,
    tokens: (names) => tokens.env(names),
    trusted: () => vscode.workspace.isTrusted,
    log: (text) => log.channel.debug(text),
  });
}

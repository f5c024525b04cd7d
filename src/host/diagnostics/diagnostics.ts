/** Implements Collect Diagnostics: gathers what a bug report needs, without secrets. */
import os from 'node:os';
import * as vscode from 'vscode';
import type { Connection } from '../../client/connect.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import { PRODUCT } from '../../common/product.ts';
import type { ServerInfo } from '../../protocol/client.ts';
import { DEFAULTS, type SettingName } from '../contributions/settings.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { DoAction, RegisterCommand, Services } from '../services.ts';
import type { Log } from '../window/log.ts';
import { setting } from '../window/settings.ts';

interface DiagnosticParts {
  readonly log: Log;
  readonly values: StoredValues;
  readonly act: DoAction;
}

export function registerDiagnostics(
  { server }: Services,
  register: RegisterCommand,
  { log, values, act }: DiagnosticParts,
): vscode.Disposable {
  return register('rollout.collectDiagnostics', async () => {
    const secrets = Object.values(await values.of(values.names));
    let serverInfo: ServerInfo | string;
    try {
      const connection = await server.connection({ start: false });
      secrets.push(connection.address().token, ...readToken(connection));
      serverInfo = await connection.api.server();
    } catch (error) {
      serverInfo = errorText(error);
    }
    const settings = Object.fromEntries(
      Object.keys(DEFAULTS).map((name) => [`rollout.${name}`, setting(name as SettingName)]),
    ); // keys of the table
    const { diagnosticsText } = await import('./diagnosticsText.ts');
    const text = diagnosticsText({
      product: PRODUCT,
      editor: `${vscode.env.appName} ${vscode.version}`,
      system: `${process.platform} ${process.arch} ${os.release()}, Node.js ${process.versions.node}`,
      remote: vscode.env.remoteName,
      trusted: vscode.workspace.isTrusted,
      store: server.store,
      target: server.target,
      settings,
      server: serverInfo,
      log: log.lines,
      secrets,
    });
    await act({ do: 'document', title: 'Rollout Diagnostics', text, language: 'markdown' });
  });
}

/** Returns undefined if the target has no read-only token. */
function readToken(connection: Connection): string[] {
  try {
    return [connection.readAddress().token];
  } catch (error) {
    if (StudioError.is(error, 'usage')) return [];
    throw error;
  }
}

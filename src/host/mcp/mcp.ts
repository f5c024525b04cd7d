/** Offers the Rollout Studio MCP server to the editor's coding agents. */
import { fileURLToPath } from 'node:url';
import * as vscode from 'vscode';
import { entryUrl } from '../../common/entries.ts';
import { PRODUCT } from '../../common/product.ts';
import { MCP_PROVIDER } from '../contributions/names.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import type { ServerSettings } from '../server/serverSettings.ts';
import type { TargetTokens } from '../targets/address/targetTokens.ts';
import { mcpApi } from './api.ts';
import { mcpDefinitions } from './definitions.ts';

/**
 * @param values Stored values for `${env:…}`. The server receives them and the target's tokens when it starts.
 */
export function registerMcp(values: StoredValues, tokens: TargetTokens, settings: ServerSettings): vscode.Disposable {
  const api = mcpApi();
  if (api === undefined) return new vscode.Disposable(() => undefined);
  const changed = new vscode.EventEmitter<void>();
  return vscode.Disposable.from(
    changed,
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    settings.changed(() => changed.fire()),
    api.register(MCP_PROVIDER, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () =>
        mcpDefinitions({
          folders: (vscode.workspace.workspaceFolders ?? [])
            .filter((folder) => folder.uri.scheme === 'file')
            .map((folder) => folder.uri.fsPath),
          store: settings.store,
          target: settings.target,
          trusted: vscode.workspace.isTrusted,
          program: process.execPath,
          file: fileURLToPath(entryUrl('cli')),
        }).map(({ label, command, args, env }) => api.definition(label, command, args, env, PRODUCT)),
      resolveMcpServerDefinition: async (definition) => {
        definition.env = {
          ...(await values.of(values.names)),
          ...(await tokens.env([settings.target])),
          ...definition.env,
        };
        return definition;
      },
    }),
  );
}

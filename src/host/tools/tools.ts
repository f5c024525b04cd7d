/**
 * Registers the tool features: try a tool, add an MCP server, and import OpenAPI tools. Contains only what VS Code
 * needs at activation.
 */

import * as vscode from 'vscode';
import { fileGlob } from '../../common/fileKinds.ts';
import { TRY_VIEW_TYPE } from '../contributions/names.ts';
import { SECTION } from '../contributions/settings.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { registerGroup } from '../window/commands.ts';
import { setting } from '../window/settings.ts';
import type { TryPanelParts, TryPanels } from './try/tryPanels.ts';

const CODE: readonly vscode.DocumentFilter[] = ['typescript', 'javascript'].map((language) => ({
  language,
  scheme: 'file',
}));
const AGENT: vscode.DocumentFilter = { pattern: fileGlob('agent'), scheme: 'file' };

export function registerTools(services: Services, register: RegisterCommand, parts: TryPanelParts): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  let instance: TryPanels | undefined;
  const panels = async (): Promise<TryPanels> => {
    const { TryPanels: Panels } = await import('./try/tryPanels.ts');
    return (instance ??= new Panels(services, parts));
  };
  return vscode.Disposable.from(
    changed,
    vscode.languages.registerCodeLensProvider([...CODE, AGENT], {
      onDidChangeCodeLenses: changed.event,
      provideCodeLenses: async (document) => {
        if (!vscode.workspace.isTrusted || !setting('tools.codeLens')) return [];
        return (await import('./try/lenses.ts')).tryLenses(
          document,
          vscode.languages.match(AGENT, document) > 0 ? 'agent' : 'code',
        );
      },
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.tools`)) changed.fire();
    }),
    registerGroup(register, ['rollout.tryTool', 'rollout.addMcpServer', 'rollout.importOpenApi'], async () =>
      (await import('./commands.ts')).toolCommands(services, parts.values, await panels()),
    ),
    vscode.window.registerWebviewPanelSerializer(TRY_VIEW_TYPE, {
      deserializeWebviewPanel: async (view, state) => (await panels()).restore(view, state),
    }),
    new vscode.Disposable(() => instance?.dispose()),
  );
}

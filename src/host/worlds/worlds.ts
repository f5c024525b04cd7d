/** Registers the commands for worlds, and the documents with parts of scenarios. */
import * as vscode from 'vscode';
import { SCENARIO_SCHEME } from '../contributions/names.ts';
import type { RegisterCommand } from '../services.ts';
import { registerGroup } from '../window/commands.ts';
import type { WorkspaceWorlds } from './workspaceWorlds.ts';

export function registerWorlds(register: RegisterCommand, worlds: WorkspaceWorlds): vscode.Disposable {
  return vscode.Disposable.from(
    registerGroup(register, ['rollout.openWorld', 'rollout.openWorldFile', 'rollout.runWorld'], async () =>
      (await import('./commands.ts')).worldCommands(worlds),
    ),
    vscode.workspace.registerTextDocumentContentProvider(SCENARIO_SCHEME, {
      provideTextDocumentContent: async (uri) => {
        const { ScenarioDocuments } = await import('./scenarioDocuments.ts');
        return new ScenarioDocuments(() => worlds.openWorlds()).provideTextDocumentContent(uri);
      },
    }),
  );
}

/** Registers the commands for worlds, and the documents with parts of scenarios. */
import * as vscode from 'vscode';
import { SCENARIO_SCHEME, WORLD_VIEW_TYPE } from '../contributions/names.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { DoAction, RegisterCommand, Services } from '../services.ts';
import { registerGroup } from '../window/commands.ts';
import type { WorldPanels } from './page/worldPanels.ts';
import { registerVerifiers } from './verifiers/verifiers.ts';
import type { WorkspaceWorlds } from './workspaceWorlds.ts';

interface WorldParts {
  readonly worlds: WorkspaceWorlds;
  readonly act: DoAction;
  readonly files: StudioFiles;
}

export function registerWorlds(services: Services, register: RegisterCommand, parts: WorldParts): vscode.Disposable {
  const { worlds, act, files } = parts;
  let instance: WorldPanels | undefined;
  const panels = async (): Promise<WorldPanels> => {
    const { WorldPanels: Panels } = await import('./page/worldPanels.ts');
    return (instance ??= new Panels({ services, worlds, act }));
  };
  return vscode.Disposable.from(
    registerVerifiers(services, register),
    files.changed((kind) => {
      if (kind !== 'agent') instance?.refresh();
    }),
    vscode.window.registerWebviewPanelSerializer(WORLD_VIEW_TYPE, {
      deserializeWebviewPanel: async (view, state) => (await panels()).restore(view, state),
    }),
    new vscode.Disposable(() => instance?.dispose()),
    registerGroup(register, ['rollout.openWorld', 'rollout.openWorldFile', 'rollout.runWorld'], async () =>
      (await import('./commands.ts')).worldCommands(worlds, await panels()),
    ),
    vscode.workspace.registerTextDocumentContentProvider(SCENARIO_SCHEME, {
      provideTextDocumentContent: async (uri) => {
        const { ScenarioDocuments } = await import('./scenarioDocuments.ts');
        return new ScenarioDocuments(() => worlds.openWorlds(), services.server).provideTextDocumentContent(uri);
      },
    }),
  );
}

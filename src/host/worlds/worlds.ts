/** Registers the commands for worlds, and the documents with parts of scenarios. */
import * as vscode from 'vscode';
import { PROMPT_SCHEME, SCENARIO_SCHEME, WORLD_VIEW_TYPE } from '../contributions/names.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { DoAction, RegisterCommand, Services } from '../services.ts';
import { registerGroup } from '../window/commands.ts';
import type { WorldPanels } from './page/worldPanels.ts';
import type { PromptPreviews } from './promptPreviews.ts';
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
  let previews: Promise<PromptPreviews> | undefined;
  const promptChanged = new vscode.EventEmitter<vscode.Uri>();
  const prompts = (): Promise<PromptPreviews> =>
    (previews ??= import('./commands.ts').then(({ PromptPreviews: Previews }) => {
      const opened = new Previews(services);
      opened.onDidChange((uri) => promptChanged.fire(uri));
      return opened;
    }));
  return vscode.Disposable.from(
    promptChanged,
    vscode.workspace.registerTextDocumentContentProvider(PROMPT_SCHEME, {
      onDidChange: promptChanged.event,
      provideTextDocumentContent: async (uri) => (await prompts()).provideTextDocumentContent(uri),
    }),
    registerVerifiers(services, register),
    files.changed((kind) => {
      if (kind !== 'agent') instance?.refresh();
    }),
    vscode.window.registerWebviewPanelSerializer(WORLD_VIEW_TYPE, {
      deserializeWebviewPanel: async (view, state) => (await panels()).restore(view, state),
    }),
    new vscode.Disposable(() => instance?.dispose()),
    registerGroup(
      register,
      [
        'rollout.openWorld',
        'rollout.openWorldFile',
        'rollout.previewPrompt',
        'rollout.measureContext',
        'rollout.runWorld',
      ],
      async () => (await import('./commands.ts')).worldCommands(worlds, await panels(), await prompts()),
    ),
    vscode.workspace.registerTextDocumentContentProvider(SCENARIO_SCHEME, {
      provideTextDocumentContent: async (uri) => {
        const { ScenarioDocuments } = await import('./scenarioDocuments.ts');
        return new ScenarioDocuments(() => worlds.openWorlds(), services.server).provideTextDocumentContent(uri);
      },
    }),
  );
}

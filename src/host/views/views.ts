/** Registers the activity bar views. */
import * as vscode from 'vscode';
import { VIEW_IDS, VIEW_KEYS } from '../contributions/names.ts';
import type { StudioFiles } from '../files/studioFiles.ts';
import type { RegisterCommand, Services } from '../services.ts';
import type { TargetRegistry } from '../targets/targetRegistry.ts';
import { WindowShares } from '../targets/windowShares.ts';
import type { WorkspaceWorlds } from '../worlds/workspaceWorlds.ts';
import { AgentTree } from './agents/agentTree.ts';
import type { ErrorNode, MoreNode } from './batches/batchNodes.ts';
import { BatchTree, LOAD_MORE } from './batches/batchTree.ts';
import type { FocusedItem } from './focusedItem.ts';
import { TargetTree } from './targets/targetTree.ts';
import { MORE_SCENARIOS, type MoreNode as MoreScenarios, WorldTree } from './worlds/worldTree.ts';

export function registerViews(
  services: Services,
  register: RegisterCommand,
  files: StudioFiles,
  registry: TargetRegistry,
  focused: FocusedItem,
  workspaceWorlds: WorkspaceWorlds,
): vscode.Disposable {
  const shares = new WindowShares(services);
  const batches = new BatchTree(services, shares);
  const agents = new AgentTree(services, files);
  const worlds = new WorldTree(workspaceWorlds);
  const targets = new TargetTree(services, registry, shares);
  const batchView = vscode.window.createTreeView(VIEW_IDS.batches, {
    treeDataProvider: batches,
    showCollapseAll: true,
    canSelectMany: true,
  });
  focused.attach(batchView);
  const agentView = vscode.window.createTreeView(VIEW_IDS.agents, { treeDataProvider: agents, showCollapseAll: true });
  const worldView = vscode.window.createTreeView(VIEW_IDS.worlds, { treeDataProvider: worlds, showCollapseAll: true });
  const targetView = vscode.window.createTreeView(VIEW_IDS.targets, { treeDataProvider: targets });

  // Watch the list of batches only while the view is visible.
  let watching: vscode.Disposable | undefined;
  const setBatchesVisible = (visible: boolean): void => {
    if (!visible) {
      watching?.dispose();
      watching = undefined;
    } else watching ??= vscode.Disposable.from(services.batches.watch(), shares.watch());
    batches.visible(visible);
  };
  setBatchesVisible(batchView.visible);
  targets.visible(targetView.visible);

  const updateServerKey = (): void =>
    void vscode.commands.executeCommand('setContext', VIEW_KEYS.server, services.server.state.value.state);
  updateServerKey();
  void files.list('batch'); // updates the context key for the welcome content
  return vscode.Disposable.from(
    shares,
    batches,
    agents,
    worlds,
    targets,
    batchView,
    agentView,
    worldView,
    targetView,
    { dispose: () => void watching?.dispose() },
    services.batches.rows.changed(() => {
      batches.batchesChanged();
      worlds.batchesChanged();
    }),
    services.server.state.changed(() => {
      updateServerKey();
      targets.refresh();
    }),
    files.changed((kind) => {
      if (kind !== 'agent') worlds.refresh(); // batch files define its tasks
      agents.refresh(); // batch files define the world of an agent
      if (kind === 'batch') void files.list('batch');
    }),
    // Tools are defined in modules next to the agent files.
    vscode.workspace.onDidSaveTextDocument(({ languageId }) => {
      if (/^(type|java)script/.test(languageId)) agents.refresh();
    }),
    batchView.onDidChangeVisibility(({ visible }) => setBatchesVisible(visible)),
    targetView.onDidChangeVisibility(({ visible }) => targets.visible(visible)),
    batchView.onDidExpandElement(({ element }) => batches.expanded(element, true)),
    batchView.onDidCollapseElement(({ element }) => batches.expanded(element, false)),
    targetView.onDidExpandElement(({ element }) => targets.expanded(element, true)),
    targetView.onDidCollapseElement(({ element }) => targets.expanded(element, false)),
    register(MORE_SCENARIOS, (node) => {
      worlds.loadMore(node as MoreScenarios);
      return Promise.resolve();
    }),
    register(LOAD_MORE, (node) => batches.loadMore(node as MoreNode | ErrorNode)), // used only by items of this view
    register('rollout.refresh', async () => {
      services.batches.refresh();
      batches.refresh();
      files.refresh();
      targets.refreshAll();
      await workspaceWorlds.clear();
      worlds.refresh();
    }),
  );
}

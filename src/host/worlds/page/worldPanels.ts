/** Manages the World pages: one per scenario, restored in the next window. */
import * as vscode from 'vscode';
import { errorText } from '../../../common/errors.ts';
import { worldPanelState } from '../../../protocol/worldPage.ts';
import { WORLD_VIEW_TYPE } from '../../contributions/names.ts';
import { webviewOptions } from '../../pages/webviewFiles.ts';
import type { DoAction, Services } from '../../services.ts';
import type { PickedWorld } from '../pickScenario.ts';
import type { WorkspaceWorlds } from '../workspaceWorlds.ts';
import { WorldPanel } from './worldPanel.ts';

export interface WorldPanelParts {
  readonly services: Pick<Services, 'context' | 'log' | 'cli'>;
  readonly worlds: WorkspaceWorlds;
  readonly act: DoAction;
}

export class WorldPanels implements vscode.Disposable {
  readonly #parts: WorldPanelParts;
  readonly #panels = new Set<WorldPanel>();

  constructor(parts: WorldPanelParts) {
    this.#parts = parts;
  }

  /** Keeps the tabs, which the next window restores. */
  dispose(): void {
    for (const panel of this.#panels) panel.release();
  }

  /** Opens or reveals the page of a world or scenario. */
  open({ world, scenario }: PickedWorld): void {
    const { uri, ref } = world;
    const key = scenario?.key ?? ref.scenario;
    const open = [...this.#panels].find((panel) => panel.uri.toString() === uri.toString() && panel.scenario === key);
    if (open !== undefined) {
      open.reveal();
      return;
    }
    const view = vscode.window.createWebviewPanel(
      WORLD_VIEW_TYPE,
      scenario?.name ?? ref.scenario ?? ref.name,
      vscode.ViewColumn.Active,
      { ...webviewOptions(this.#parts.services.context), retainContextWhenHidden: true },
    );
    this.#show(view, uri, key);
  }

  restore(view: vscode.WebviewPanel, saved: unknown): Promise<void> {
    const state = worldPanelState.safeParse(saved);
    if (!state.success) view.dispose();
    else {
      view.webview.options = webviewOptions(this.#parts.services.context);
      this.#show(view, vscode.Uri.parse(state.data.file), state.data.scenario);
    }
    return Promise.resolve();
  }

  /** Called when world or batch files changed. */
  refresh(): void {
    for (const panel of this.#panels) panel.refresh();
  }

  #show(view: vscode.WebviewPanel, uri: vscode.Uri, scenario: string | undefined): void {
    const { services, worlds, act } = this.#parts;
    const panel: WorldPanel = new WorldPanel(view, uri, scenario, {
      context: services.context,
      worlds,
      act,
      cli: services.cli,
      extract: async (file, open) => (await import('../extract.ts')).extractScenario(file, open),
      onError: (error) => {
        services.log.error(error instanceof Error ? error : String(error));
        void vscode.window.showErrorMessage(errorText(error));
      },
      closed: () => this.#panels.delete(panel),
    });
    this.#panels.add(panel);
  }
}

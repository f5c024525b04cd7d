/** The pages of the extension: made once, registered once. */
import * as vscode from 'vscode';
import type { DoAction, Pages, Services } from '../services.ts';
import { createActions } from './actions.ts';
import { PagePanels } from './panels.ts';
import { VIEW_TYPE } from './panel.ts';
import { ValueDocuments } from './textDocuments.ts';

export interface HostPages extends Pages {
  readonly act: DoAction;
  dispose(): void;
}

/** Makes the pages from the other parts; cheap, nothing is shown yet. */
export function createPages(services: Omit<Services, 'pages'>): HostPages {
  const documents = new ValueDocuments();
  const act: DoAction = createActions({ services, pages: () => panels, documents });
  const panels = new PagePanels(services, act);
  const serializer = vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, panels);
  return {
    open: (place, options) => panels.open(place, options),
    shows: (place) => panels.shows(place),
    active: panels.active,
    act,
    dispose: () => {
      serializer.dispose();
      documents.dispose();
      panels.dispose();
    },
  };
}

/** Context keys of the active page, for menus. */
export function registerPages(services: Services): vscode.Disposable {
  let asked = new AbortController();
  const set = (key: string, value: unknown): void => void vscode.commands.executeCommand('setContext', key, value);
  const tell = (): void => {
    asked.abort();
    asked = new AbortController();
    const { signal } = asked;
    const active = services.pages.active.value;
    set('rollout.activeBatch', active?.page === 'batch');
    set('rollout.activeTrajectory', active?.page === 'trajectory');
    set('rollout.activeCompare', active?.page === 'compare');
    if (active?.page !== 'batch') {
      set('rollout.batchState', undefined);
      return;
    }
    // A server that is not there is told by the page; its buttons then wait for it.
    services.batches.get(active.batch, signal).then((row) => {
      if (!signal.aborted) set('rollout.batchState', row.state);
    }, () => undefined);
  };
  const listeners = [services.pages.active.changed(tell), services.batches.rows.changed(tell)];
  return new vscode.Disposable(() => {
    asked.abort();
    for (const listener of listeners) listener.dispose();
  });
}

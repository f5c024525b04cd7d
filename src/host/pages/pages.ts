/** Creates and registers the pages of the extension. */
import * as vscode from 'vscode';
import { Observable } from '../../common/emitter.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { PAGE_VIEW_TYPE } from '../contributions/names.ts';
import type { PageServer, ServerConnections } from '../server/connections.ts';
import type { DoAction, HostAction, Pages, Services } from '../services.ts';
import type { PagePanels } from './panels.ts';
import { ValueDocuments } from './textDocuments.ts';

interface HostPages extends Pages {
  readonly act: DoAction;
  dispose(): void;
}

/** Creates the pages. The panel code is loaded with the first page. */
export function createPages(services: Omit<Services, 'pages'>, connections: ServerConnections): HostPages {
  const documents = new ValueDocuments();
  const active = new Observable<PagePlace | undefined>(undefined);
  let panels: PagePanels | undefined;
  const loadPanels = async (): Promise<PagePanels> => {
    const { PagePanels } = await import('./panels.ts');
    return (panels ??= new PagePanels(services, { connections, act: perform, active }));
  };
  const open: Pages['open'] = async (place, options) => (await loadPanels()).open(place, options);
  const perform = async (action: HostAction, server?: PageServer): Promise<void> => {
    const { doAction } = await import('./actions.ts');
    await doAction(
      {
        services,
        open: async (place, options) =>
          (await loadPanels()).open(place, { ...options, id: server?.id ?? connections.current }),
        documents,
        pageServer: server,
      },
      action,
    );
  };
  const act: DoAction = (action) => perform(action);
  const serializer = vscode.window.registerWebviewPanelSerializer(PAGE_VIEW_TYPE, {
    deserializeWebviewPanel: async (view, state) => (await loadPanels()).restore(view, state),
  });
  return {
    open,
    shows: (place) => panels?.shows(place) ?? false,
    active,
    act,
    dispose: () => {
      serializer.dispose();
      documents.dispose();
      panels?.dispose();
    },
  };
}

/** Context keys of the active page, for menus. */
export function registerPages(services: Services): vscode.Disposable {
  let request = new AbortController();
  const set = (key: string, value: unknown): void => void vscode.commands.executeCommand('setContext', key, value);
  const update = (): void => {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const active = services.pages.active.value;
    set('rollout.activeBatch', active?.page === 'batch');
    set('rollout.activeTrajectory', active?.page === 'trajectory');
    set('rollout.activeCompare', active?.page === 'compare');
    if (active?.page !== 'batch') {
      set('rollout.batchState', undefined);
      return;
    }
    // The page reports a missing server, and its buttons then wait for it.
    services.batches.get(active.batch, signal).then(
      (row) => {
        if (!signal.aborted) set('rollout.batchState', row.state);
      },
      () => undefined,
    );
  };
  const listeners = [services.pages.active.changed(update), services.batches.rows.changed(update)];
  return new vscode.Disposable(() => {
    request.abort();
    for (const listener of listeners) listener.dispose();
  });
}

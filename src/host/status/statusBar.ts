/** The status bar items for running batches and, if there is a choice, the target. */
import * as vscode from 'vscode';
import type { Connection } from '../../client/connect.ts';
import { LOCAL } from '../../client/targets/local.ts';
import type { HostBatchList } from '../batches/batchList.ts';
import { statusText } from '../batches/statusText.ts';
import type { Services } from '../services.ts';
import { targetItem } from '../targets/targetItem.ts';
import type { TargetRegistry } from '../targets/targetRegistry.ts';

export function registerStatusBar(
  services: Services,
  batches: HostBatchList,
  targets: TargetRegistry,
): vscode.Disposable {
  return vscode.Disposable.from(createRunningItem(services, batches), createTargetItem(services, batches, targets));
}

function createRunningItem(services: Services, batches: HostBatchList): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('rollout.status', vscode.StatusBarAlignment.Left, 10);
  item.name = 'Rollout';
  const show = (): void => {
    const status = statusText(batches.rows.value, services.server.state.value, services.server.target !== LOCAL);
    if (status === undefined) {
      item.hide();
      return;
    }
    const { text, tooltip, label, warning, click } = status;
    item.text = text;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label, role: 'button' };
    item.backgroundColor = warning ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    item.command =
      click.do === 'start'
        ? 'rollout.startServer'
        : { command: 'rollout.openBatch', title: 'Open Batch', arguments: click.do === 'open' ? [click.batch] : [] };
    item.show();
  };
  // Follow a running server, but do not start one for this item.
  let watching = vscode.workspace.isTrusted ? batches.watch({ start: false }) : undefined;
  const listeners = [
    batches.rows.changed(show),
    services.server.state.changed(show),
    services.server.serverChanged(show),
  ];
  show();
  return vscode.Disposable.from(
    item,
    vscode.workspace.onDidGrantWorkspaceTrust(() => (watching ??= batches.watch({ start: false }))),
    { dispose: () => watching?.dispose() },
    { dispose: () => listeners.forEach((listener) => listener.dispose()) },
  );
}

function createTargetItem({ server }: Services, batches: HostBatchList, targets: TargetRegistry): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('rollout.target', vscode.StatusBarAlignment.Left, 9.9);
  item.name = 'Rollout Target';
  item.command = 'rollout.selectTarget';
  let product: string | undefined;
  const show = (): void => {
    const content = targetItem({
      targets: targets.list.value,
      current: server.target,
      state: server.state.value,
      unstable: server.unstable?.value,
      product,
      batches: batches.rows.value,
    });
    if (content === undefined) {
      item.hide();
      return;
    }
    item.text = content.text;
    item.tooltip = content.tooltip;
    item.accessibilityInformation = { label: content.label, role: 'button' };
    item.show();
  };
  let request = new AbortController();
  const query = ({ api }: Connection): void => {
    request.abort();
    const { signal } = (request = new AbortController());
    api.server(signal).then(
      (info) => {
        if (signal.aborted) return;
        product = info.product;
        show();
      },
      () => undefined,
    ); // the link state shows failures
  };
  const clear = (): void => {
    request.abort();
    product = undefined;
    show();
  };
  const listeners = [
    targets.list.changed(show),
    batches.rows.changed(show),
    server.state.changed(show),
    ...(server.unstable === undefined ? [] : [server.unstable.changed(show)]),
    server.serverChanged(clear),
    server.connected(query),
  ];
  show();
  return vscode.Disposable.from(
    item,
    new vscode.Disposable(() => {
      request.abort();
      for (const listener of listeners) listener.dispose();
    }),
  );
}

/** The status bar item: what runs, and one click to it. */
import * as vscode from 'vscode';
import type { HostBatchList } from '../batches/batchList.ts';
import { statusText } from '../batches/statusText.ts';
import type { Services } from '../services.ts';

export function registerStatusBar(services: Services, batches: HostBatchList): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('rollout.status', vscode.StatusBarAlignment.Left, 10);
  item.name = 'Rollout';
  const show = (): void => {
    const status = statusText(batches.rows.value, services.server.state.value, services.server.target);
    if (status === undefined) {
      item.hide();
      return;
    }
    const { text, tooltip, label, warning, click } = status;
    item.text = text;
    item.tooltip = tooltip;
    item.accessibilityInformation = { label, role: 'button' };
    item.backgroundColor = warning ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    item.command = click.do === 'start' ? 'rollout.startServer'
      : { command: 'rollout.openBatch', title: 'Open Batch', arguments: click.do === 'open' ? [click.batch] : [] };
    item.show();
  };
  // A server that runs anyway is followed; for this item alone none is started.
  let watching = vscode.workspace.isTrusted ? batches.watch({ start: false }) : undefined;
  const listeners = [batches.rows.changed(show), services.server.state.changed(show), services.server.moved(show)];
  show();
  return vscode.Disposable.from(
    item,
    vscode.workspace.onDidGrantWorkspaceTrust(() => (watching ??= batches.watch({ start: false }))),
    { dispose: () => watching?.dispose() },
    { dispose: () => listeners.forEach((listener) => listener.dispose()) },
  );
}

/** Keeps the context keys of the commands up to date. */
import * as vscode from 'vscode';
import { isLive } from '../batches/batchText.ts';
import { CONTEXT_KEYS } from '../contributions/keys.ts';
import type { Services } from '../services.ts';

/** What was known when the window was open the last time: a store that nobody asked yet is not an empty one. */
const HAD_BATCHES = 'hadBatches';

export function registerContextKeys({ batches, context, server }: Services): vscode.Disposable {
  const set = (key: string, value: unknown): void => void vscode.commands.executeCommand('setContext', key, value);
  let asked = false;
  const tell = (): void => {
    const rows = batches.rows.value;
    const has = rows.length > 0 || (!asked && context.globalState.get(HAD_BATCHES) === true);
    set(CONTEXT_KEYS.hasBatches, has);
    set(CONTEXT_KEYS.hasRunning, rows.some(isLive));
    set(
      CONTEXT_KEYS.hasPaused,
      rows.some((row) => row.state === 'paused'),
    );
    set(
      CONTEXT_KEYS.hasUnsettled,
      rows.some((row) => !row.imported && row.counts.infrastructure + row.counts.cancelled > 0),
    );
    if (asked && context.globalState.get(HAD_BATCHES) !== has) void context.globalState.update(HAD_BATCHES, has);
  };
  tell();
  const listeners = [
    batches.rows.changed(() => {
      asked = true;
      tell();
    }),
    server.connected(() => tell()),
  ];
  return new vscode.Disposable(() => listeners.forEach((listener) => listener.dispose()));
}

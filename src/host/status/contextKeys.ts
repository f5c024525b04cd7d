/** Updates the context keys of the commands. */
import * as vscode from 'vscode';
import { isLive } from '../batches/batchText.ts';
import { CONTEXT_KEYS } from '../contributions/keys.ts';
import type { Services } from '../services.ts';

/** Memento key that remembers whether the store had batches, for use until it was read. */
const HAD_BATCHES = 'hadBatches';

const RIGHT_KEYS = [
  ['launch', CONTEXT_KEYS.canLaunch],
  ['control', CONTEXT_KEYS.canControl],
  ['administer', CONTEXT_KEYS.canAdminister],
] as const;

export function registerContextKeys({ batches, context, server }: Services): vscode.Disposable {
  const set = (key: string, value: unknown): void => void vscode.commands.executeCommand('setContext', key, value);
  let isLoaded = false;
  const update = (): void => {
    const rows = batches.rows.value;
    const has = rows.length > 0 || (!isLoaded && context.globalState.get(HAD_BATCHES) === true);
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
    if (isLoaded && context.globalState.get(HAD_BATCHES) !== has) void context.globalState.update(HAD_BATCHES, has);
  };
  const updateRights = (): void => {
    const rights = server.you.value?.rights;
    for (const [right, key] of RIGHT_KEYS) {
      const may = rights?.some((own) => own === right || own === 'administer');
      set(key, may === undefined ? undefined : may ? 'yes' : 'no');
    }
  };
  update();
  updateRights();
  const listeners = [
    server.you.changed(updateRights),
    batches.rows.changed(() => {
      isLoaded = true;
      update();
    }),
    server.connected(() => update()),
  ];
  return new vscode.Disposable(() => listeners.forEach((listener) => listener.dispose()));
}

/** Choosing a batch or a trajectory from a list, or by a reference that is typed or pasted. */
import * as vscode from 'vscode';
import { errorText } from '../../common/errors.ts';
import { parseReference } from '../../client/reference.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { outcomeOf, type Outcome } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import type { Services } from '../services.ts';

/** More are found by typing a reference, or in the batch's grid. */
const MOST_BATCHES = 200;
const MOST_ATTEMPTS = 1_000;

const CODICONS: Readonly<Record<Outcome, string>> = {
  queued: 'circle-outline', running: 'sync', held: 'debug-pause', passed: 'pass', failed: 'error',
  truncated: 'circle-slash', infrastructure: 'debug-disconnect', cancelled: 'stop-circle', unscored: 'circle-filled',
};

interface PlaceItem extends vscode.QuickPickItem {
  readonly place?: PagePlace | string;
  readonly batch?: BatchRow;
}

interface Choice {
  readonly title: string;
  readonly placeholder: string;
  /** What a typed reference may be. */
  readonly accepts: (text: string) => boolean;
  readonly items: (signal: AbortSignal) => Promise<readonly PlaceItem[]>;
  readonly back?: boolean;
}

/** undefined when the user thought better of it. */
export async function pickBatch(services: Services): Promise<PagePlace | string | undefined> {
  const chosen = await choose({
    title: 'Open Batch', placeholder: 'Name, or the batch’s id', accepts: isReference(['batch']),
    items: async (signal) => (await batches(services, signal)).map((item) => (item.batch === undefined ? item : { ...item, place: { page: 'batch', batch: item.batch.batch } })),
  });
  return chosen === 'back' ? undefined : chosen?.place;
}

/** First the batch, then the attempt; a reference does both at once. */
export async function pickTrajectory(services: Services): Promise<PagePlace | string | undefined> {
  for (;;) {
    const chosen = await choose({
      title: 'Open Trajectory', placeholder: 'A batch, or a reference such as BATCH/TASK/ATTEMPT or ROLLOUT:STEP', accepts: isReference(['rollout', 'attempt']),
      items: (signal) => batches(services, signal),
    });
    if (chosen === undefined || chosen === 'back') return undefined;
    const { batch } = chosen;
    if (batch === undefined) return chosen.place;
    const attempt = await choose({
      title: `Open Trajectory of ${batch.name}`, placeholder: 'Task and attempt', accepts: isReference(['rollout', 'attempt']), back: true,
      items: async (signal) => {
        const { api } = await services.server.connection({ signal });
        const items: PlaceItem[] = [];
        for await (const row of api.allRollouts(batch.batch, {}, signal)) {
          items.push(attemptItem(row));
          if (items.length === MOST_ATTEMPTS) break;
        }
        return items;
      },
    });
    if (attempt !== 'back') return attempt?.place;
  }
}

async function batches(services: Services, signal: AbortSignal): Promise<PlaceItem[]> {
  const { api } = await services.server.connection({ signal });
  return (await api.batches({ limit: MOST_BATCHES }, signal)).batches.map((row) => {
    const { passed, failed, running, held, queued } = row.counts;
    const open = running + held + queued;
    return {
      label: `$(${row.state === 'running' ? 'sync' : row.state === 'paused' ? 'debug-pause' : 'beaker'}) ${row.name}`,
      description: new Date(row.created_at).toLocaleString(),
      detail: `${row.state} · ${row.tasks} tasks · ${passed} passed, ${failed} failed${open === 0 ? '' : `, ${open} to go`} · ${row.batch}`,
      batch: row,
    };
  });
}

function attemptItem(row: RolloutRow): PlaceItem {
  const outcome = outcomeOf(row);
  const why = row.progress.error_message;
  return {
    label: `$(${CODICONS[outcome]}) ${row.task}`, description: `attempt ${row.attempt} · ${outcome} · ${row.progress.steps} steps`,
    ...(why === undefined ? {} : { detail: why }), place: { page: 'trajectory', rollout: row.rollout },
  };
}

/** A list that is there at once and fills when the server answered. */
function choose({ title, placeholder, accepts, items, back }: Choice): Promise<PlaceItem | 'back' | undefined> {
  const stop = new AbortController();
  const pick = vscode.window.createQuickPick<PlaceItem>();
  pick.title = title;
  pick.placeholder = placeholder;
  pick.matchOnDescription = true;
  pick.matchOnDetail = true;
  pick.busy = true;
  if (back === true) pick.buttons = [vscode.QuickInputButtons.Back];
  return new Promise<PlaceItem | 'back' | undefined>((resolve, reject) => {
    let listed: readonly PlaceItem[] = [];
    const show = (): void => {
      const typed = pick.value.trim();
      pick.items = accepts(typed) ? [{ label: `$(link) Open ${typed}`, alwaysShow: true, place: typed }, ...listed] : listed;
    };
    pick.onDidChangeValue(show);
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]);
      pick.hide();
    });
    pick.onDidTriggerButton(() => {
      resolve('back');
      pick.hide();
    });
    pick.onDidHide(() => {
      stop.abort();
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
    items(stop.signal).then((found) => {
      listed = found;
      pick.busy = false;
      if (found.length === 0) pick.placeholder = 'There is nothing here yet.';
      show();
    }, (error: unknown) => {
      if (stop.signal.aborted) return;
      reject(error instanceof Error ? error : new Error(errorText(error)));
      pick.hide();
    });
  });
}

function isReference(kinds: readonly ReturnType<typeof parseReference>['kind'][]): (text: string) => boolean {
  return (text) => {
    try {
      return kinds.includes(parseReference(text).kind);
    } catch {
      return false; // still being typed
    }
  };
}

/** Lets the user pick a batch, trajectory, or task from a list, or enter a reference. */

import * as vscode from 'vscode';
import { parseReference, taskOf } from '../../client/reference.ts';
import { errorText } from '../../common/errors.ts';
import { plural } from '../../common/text.ts';
import type { BatchRow } from '../../protocol/client.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { type Outcome, outcomeOf } from '../../trace/outcome.ts';
import type { RolloutRow } from '../../trace/summary.ts';
import { withoutDebugRuns } from '../batches/batchText.ts';
import type { Services } from '../services.ts';

/** Maximum number of entries. Others can be opened by reference or from the batch's grid. */
const MAX_BATCHES = 200;
const MAX_ATTEMPTS = 1_000;
const MAX_TASKS = 1_000;

const CODICONS: Readonly<Record<Outcome, string>> = {
  queued: 'circle-outline',
  running: 'sync',
  held: 'debug-pause',
  passed: 'pass',
  failed: 'error',
  truncated: 'circle-slash',
  infrastructure: 'debug-disconnect',
  cancelled: 'stop-circle',
  unscored: 'circle-filled',
};

interface PlaceItem extends vscode.QuickPickItem {
  readonly place?: PagePlace | string;
  readonly batch?: BatchRow;
}

interface PickOptions {
  readonly title: string;
  readonly placeholder: string;
  /** Parses an entered reference. */
  readonly accepts: (text: string) => boolean;
  readonly items: (signal: AbortSignal) => Promise<readonly PlaceItem[]>;
  readonly back?: boolean;
}

/** Returns undefined if the user cancels. */
export async function pickBatch(
  services: Services,
  { title = 'Open Batch', except }: { readonly title?: string; readonly except?: string } = {},
): Promise<PagePlace | string | undefined> {
  const chosen = await choose({
    title,
    placeholder: 'Select a batch, or enter its ID',
    accepts: isReference(['batch']),
    items: async (signal) =>
      (await batches(services, signal))
        .filter((item) => except === undefined || item.batch?.batch !== except)
        .map((item) =>
          item.batch === undefined ? item : { ...item, place: { page: 'batch', batch: item.batch.batch } },
        ),
  });
  return chosen === 'back' ? undefined : chosen?.place;
}

/** Asks for the batch, then the attempt. A reference answers both. */
export function pickTrajectory(services: Services, title = 'Open Trajectory'): Promise<PagePlace | string | undefined> {
  return pickInBatch(services, {
    title,
    placeholder: 'Select a batch, or enter a reference such as BATCH/TASK/ATTEMPT or ROLLOUT:STEP',
    itemPlaceholder: 'Select an attempt',
    accepts: isReference(['rollout', 'attempt']),
    items: async ({ batch }, signal) => {
      const { api } = await services.server.connection({ signal });
      const items: PlaceItem[] = [];
      for await (const row of api.allRollouts(batch, {}, signal)) {
        items.push(attemptItem(row));
        if (items.length === MAX_ATTEMPTS) break;
      }
      return items;
    },
  });
}

/** Asks for the batch, unless it is known, then the task. The user can also enter `BATCH/TASK`. */
export function pickTask(services: Services, batch: BatchRow | undefined): Promise<PagePlace | string | undefined> {
  return pickInBatch(
    services,
    {
      title: 'Compare Attempts',
      placeholder: 'Select a batch, or enter a reference BATCH/TASK',
      itemPlaceholder: 'Select a task',
      accepts: (text) => taskOf(text) !== undefined,
      items: async ({ batch: of }, signal) => {
        const { api } = await services.server.connection({ signal });
        const { tasks } = await api.tasks(of, { limit: MAX_TASKS }, signal);
        return tasks.map(({ id, question }) => ({
          label: id,
          description: question.replaceAll(/\s+/g, ' ').slice(0, 120),
          place: { page: 'compare', batch: of, task: id },
        }));
      },
    },
    batch,
  );
}

interface NestedPick extends Omit<PickOptions, 'items' | 'back'> {
  /** Placeholder of the second step, after a batch was chosen. */
  readonly itemPlaceholder: string;
  readonly items: (batch: BatchRow, signal: AbortSignal) => Promise<readonly PlaceItem[]>;
}

/** @param initialBatch The batch, if it is already determined. */
async function pickInBatch(
  services: Services,
  { title, placeholder, itemPlaceholder, accepts, items }: NestedPick,
  initialBatch?: BatchRow,
): Promise<PagePlace | string | undefined> {
  for (;;) {
    const chosen =
      initialBatch === undefined
        ? await choose({ title, placeholder, accepts, items: (signal) => batches(services, signal) })
        : { batch: initialBatch, place: undefined };
    if (chosen === undefined || chosen === 'back') return undefined;
    const { batch } = chosen;
    if (batch === undefined) return chosen.place;
    const item = await choose({
      title: `${title} of ${batch.name}`,
      placeholder: itemPlaceholder,
      accepts,
      back: initialBatch === undefined,
      items: (signal) => items(batch, signal),
    });
    if (item !== 'back') return item?.place;
  }
}

async function batches(services: Services, signal: AbortSignal): Promise<PlaceItem[]> {
  const { api } = await services.server.connection({ signal });
  const all = (await api.batches({ limit: MAX_BATCHES }, signal)).batches;
  const measured = withoutDebugRuns(all);
  return [...measured, ...all.filter((row) => !measured.includes(row))].map((row) => {
    const { passed, failed, running, held, queued } = row.counts;
    const open = running + held + queued;
    return {
      label: `$(${row.state === 'running' ? 'sync' : row.state === 'paused' ? 'debug-pause' : 'beaker'}) ${row.name}`,
      description: new Date(row.created_at).toLocaleString(),
      detail:
        `${row.debug === true ? 'debug run, ' : ''}${row.state} · ${plural(row.tasks, 'task')} · ` +
        `${passed} passed, ${failed} failed${open === 0 ? '' : `, ${open} remaining`} · ${row.batch}`,
      batch: row,
    };
  });
}

function attemptItem(row: RolloutRow): PlaceItem {
  const outcome = outcomeOf(row);
  const errorMessage = row.progress.error_message;
  return {
    label: `$(${CODICONS[outcome]}) ${row.task}`,
    description: `attempt ${row.attempt} · ${outcome} · ${plural(row.progress.steps, 'step')}`,
    ...(errorMessage === undefined ? {} : { detail: errorMessage }),
    place: { page: 'trajectory', rollout: row.rollout },
  };
}

/** Shows a list at once and fills it when the server responds. */
function choose({ title, placeholder, accepts, items, back }: PickOptions): Promise<PlaceItem | 'back' | undefined> {
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
      const text = pick.value.trim();
      pick.items = accepts(text)
        ? [{ label: `$(link) Open ${text}`, alwaysShow: true, place: text }, ...listed]
        : listed;
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
    items(stop.signal).then(
      (items) => {
        listed = items;
        pick.busy = false;
        if (items.length === 0) pick.placeholder = 'Nothing here yet';
        show();
      },
      (error: unknown) => {
        if (stop.signal.aborted) return;
        reject(error instanceof Error ? error : new Error(errorText(error)));
        pick.hide();
      },
    );
  });
}

function isReference(kinds: readonly ReturnType<typeof parseReference>['kind'][]): (text: string) => boolean {
  return (text) => {
    try {
      return kinds.includes(parseReference(text).kind);
    } catch {
      return false; // incomplete
    }
  };
}

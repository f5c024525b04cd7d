/** Implements Open Batch…, Open Trajectory…, Compare Attempts…, Compare Batches…, and external links. */
import * as vscode from 'vscode';
import { comparePlaceOf, placeOf, taskOf } from '../../client/reference.ts';
import { errorText, StudioError } from '../../common/errors.ts';
import type { BatchRow } from '../../protocol/client.ts';
import { linkPlace, readLink } from '../../protocol/editorLink.ts';
import type { PagePlace } from '../../protocol/page.ts';
import type { CommandGroup, Services } from '../services.ts';
import { argumentPlace, argumentTask, type TaskReference } from './argument.ts';
import { pickBatch, pickTask, pickTrajectory } from './pick.ts';

type OpenCommand =
  | 'rollout.openBatch'
  | 'rollout.openTrajectory'
  | 'rollout.compareAttempts'
  | 'rollout.compareBatches';

export function openCommands(services: Services): CommandGroup<OpenCommand> {
  return {
    'rollout.openBatch': async (argument, options) => {
      const place = argumentPlace(argument) ?? (await pickBatch(services));
      if (place !== undefined) await openPlace(services, place, options);
    },
    'rollout.openTrajectory': async (argument, options) => {
      const place = argumentPlace(argument) ?? (await pickTrajectory(services));
      if (place !== undefined) await openPlace(services, place, options);
    },
    'rollout.compareAttempts': async (argument, options) => {
      const place = await placeToCompare(services, argumentTask(argument) ?? argumentTask(services.pages.active.value));
      if (place !== undefined) await openPlace(services, place, options);
    },
    'rollout.compareBatches': async (argument, selected) => {
      const place = await batchesToCompare(services, argument, selected);
      if (place !== undefined) await services.pages.open(place);
    },
  };
}

/**
 * Compares two selected batches, or the argument's or active page's batch with one that the user picks. The earlier
 * one comes first.
 */
async function batchesToCompare(
  services: Services,
  argument: unknown,
  selected: unknown,
): Promise<PagePlace | undefined> {
  const selectedBatches = Array.isArray(selected) ? [...new Set(selected.flatMap((item) => batchOf(item) ?? []))] : [];
  const signal = new AbortController().signal;
  const { api } = await services.server.connection();
  const pickBatchRow = async (title: string, first?: BatchRow): Promise<BatchRow | undefined> => {
    const picked = await pickBatch(services, { title, ...(first === undefined ? {} : { except: first.batch }) });
    const place = typeof picked === 'string' ? await lookUp(services, picked, placeOf) : picked;
    return place?.page === 'batch' ? api.batch(place.batch, signal) : undefined;
  };
  const firstBatch = selectedBatches[0] ?? batchOf(argument) ?? batchOf(services.pages.active.value);
  const first =
    firstBatch === undefined ? await pickBatchRow('Compare Batches: First Batch') : await api.batch(firstBatch, signal);
  if (first === undefined) return undefined;
  const second =
    selectedBatches[1] === undefined
      ? await pickBatchRow(`Compare ${first.name} With`, first)
      : await api.batch(selectedBatches[1], signal);
  if (second === undefined) return undefined;
  const [before, after] = first.created_at <= second.created_at ? [first, second] : [second, first];
  return { page: 'batches', batch: before.batch, with: after.batch };
}

function batchOf(argument: unknown): string | undefined {
  const place = argumentPlace(argument);
  return typeof place === 'object' && place.page === 'batch' ? place.batch : undefined;
}

/** Asks for what the argument does not specify. Returns undefined if the user cancels. */
async function placeToCompare(
  services: Services,
  { batch, task, rollout, reference }: TaskReference = {},
): Promise<PagePlace | undefined> {
  if (batch !== undefined && task !== undefined)
    return { page: 'compare', batch, task, ...(rollout === undefined ? {} : { rollout }) };
  const signal = new AbortController().signal;
  if (rollout !== undefined) {
    const { row } = await (await services.server.connection()).api.rollout(rollout, signal);
    return { page: 'compare', batch: row.batch, task: row.task, rollout };
  }
  if (reference !== undefined && taskOf(reference) !== undefined) return lookUp(services, reference, comparePlaceOf);
  const batchRef = batch ?? reference;
  const picked = await pickTask(
    services,
    batchRef === undefined ? undefined : await services.batches.get(batchRef, signal),
  );
  return typeof picked === 'string' ? lookUp(services, picked, comparePlaceOf) : picked;
}

/** @param place A place, or a reference to look up on the server. */
async function openPlace(services: Services, place: PagePlace | string, options: unknown): Promise<void> {
  const toSide = typeof options === 'object' && options !== null && 'beside' in options && options.beside === true;
  await services.pages.open(typeof place === 'string' ? await lookUp(services, place, placeOf) : place, { toSide });
}

function lookUp(services: Services, reference: string, find: typeof placeOf): Promise<PagePlace> {
  return Promise.resolve(
    vscode.window.withProgress(
      { location: vscode.ProgressLocation.Window, title: `Looking up ${reference}` },
      async () => {
        const connection = await services.server.connection();
        return find(connection.api, reference, new AbortController().signal);
      },
    ),
  );
}

/** Opens a shared link. */
export async function followLink(services: Services, uri: vscode.Uri): Promise<void> {
  try {
    const link = readLink(uri.path, uri.query);
    if (link === undefined) throw new StudioError('usage', 'This link does not open anything in Rollout Studio.');
    await services.pages.open(
      linkPlace(await lookUp(services, link.reference, link.compare === true ? comparePlaceOf : placeOf), link),
    );
  } catch (error) {
    services.log.warn(`Cannot open the link: ${errorText(error)}`);
    void vscode.window.showErrorMessage(errorText(error));
  }
}

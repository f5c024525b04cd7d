/** Opening what is in the store: Open Batch…, Open Trajectory…, Compare Attempts…, and links from elsewhere. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../common/errors.ts';
import { comparePlaceOf, placeOf, taskOf } from '../../client/reference.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { linkPlace, readLink } from '../pages/placeName.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { argumentPlace, argumentTask, type TaskWanted } from './argument.ts';
import { pickBatch, pickTask, pickTrajectory } from './pick.ts';

export function registerOpen(services: Services, register: RegisterCommand): vscode.Disposable {
  return vscode.Disposable.from(
    register('rollout.openBatch', async (argument, options) => {
      const place = argumentPlace(argument) ?? await pickBatch(services);
      if (place !== undefined) await openPlace(services, place, options);
    }),
    register('rollout.openTrajectory', async (argument, options) => {
      const place = argumentPlace(argument) ?? await pickTrajectory(services);
      if (place !== undefined) await openPlace(services, place, options);
    }),
    register('rollout.compareAttempts', async (argument, options) => {
      const place = await placeToCompare(services, argumentTask(argument) ?? argumentTask(services.pages.active.value));
      if (place !== undefined) await openPlace(services, place, options);
    }),
    vscode.window.registerUriHandler({ handleUri: (uri) => follow(services, uri) }),
  );
}

/** What is not said is asked; undefined when the user thought better of it. */
async function placeToCompare(services: Services, { batch, task, rollout, reference }: TaskWanted = {}): Promise<PagePlace | undefined> {
  if (batch !== undefined && task !== undefined) return { page: 'compare', batch, task };
  const signal = new AbortController().signal;
  if (rollout !== undefined) {
    const { row } = await (await services.server.connection()).api.rollout(rollout, signal);
    return { page: 'compare', batch: row.batch, task: row.task };
  }
  if (reference !== undefined && taskOf(reference) !== undefined) return lookUp(services, reference, comparePlaceOf);
  const known = batch ?? reference;
  const chosen = await pickTask(services, known === undefined ? undefined : await services.batches.get(known, signal));
  return typeof chosen === 'string' ? lookUp(services, chosen, comparePlaceOf) : chosen;
}

/** `place`: a place, or a reference that the server has to look up. */
async function openPlace(services: Services, place: PagePlace | string, options: unknown): Promise<void> {
  const beside = typeof options === 'object' && options !== null && 'beside' in options && options.beside === true;
  await services.pages.open(typeof place === 'string' ? await lookUp(services, place, placeOf) : place, { beside });
}

function lookUp(services: Services, reference: string, find: typeof placeOf): Promise<PagePlace> {
  return Promise.resolve(vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: `Looking up ${reference}` }, async () => {
    const connection = await services.server.connection();
    return find(connection.api, reference, new AbortController().signal);
  }));
}

/** A link that somebody sent. */
async function follow(services: Services, uri: vscode.Uri): Promise<void> {
  try {
    const link = readLink(uri.path, uri.query);
    if (link === undefined) throw new StudioError('usage', 'This link leads to nothing in Rollout Studio.');
    await services.pages.open(linkPlace(await lookUp(services, link.reference, link.compare === true ? comparePlaceOf : placeOf), link));
  } catch (error) {
    services.log.warn(`A link could not be opened: ${errorText(error)}`);
    void vscode.window.showErrorMessage(errorText(error));
  }
}

/** Opening what is in the store: Open Batch…, Open Trajectory…, and links from elsewhere. */
import * as vscode from 'vscode';
import { errorText, StudioError } from '../../common/errors.ts';
import { placeOf } from '../../client/reference.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { linkPlace, readLink } from '../pages/placeName.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { argumentPlace } from './argument.ts';
import { pickBatch, pickTrajectory } from './pick.ts';

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
    vscode.window.registerUriHandler({ handleUri: (uri) => follow(services, uri) }),
  );
}

/** `place`: a place, or a reference that the server has to look up. */
async function openPlace(services: Services, place: PagePlace | string, options: unknown): Promise<void> {
  const beside = typeof options === 'object' && options !== null && 'beside' in options && options.beside === true;
  await services.pages.open(typeof place === 'string' ? await lookUp(services, place) : place, { beside });
}

function lookUp(services: Services, reference: string): Promise<PagePlace> {
  return Promise.resolve(vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: 'Looking up the trajectory' }, async () => {
    const connection = await services.server.connection();
    return placeOf(connection.api, reference, new AbortController().signal);
  }));
}

/** A link that somebody sent. */
async function follow(services: Services, uri: vscode.Uri): Promise<void> {
  try {
    const link = readLink(uri.path, uri.query);
    if (link === undefined) throw new StudioError('usage', 'This link leads to nothing in Rollout Studio.');
    await services.pages.open(linkPlace(await lookUp(services, link.reference), link));
  } catch (error) {
    services.log.warn(`A link could not be opened: ${errorText(error)}`);
    void vscode.window.showErrorMessage(errorText(error));
  }
}

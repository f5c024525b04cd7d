/** Debug, Attach Debugger and Fork, from wherever a batch, an attempt or a batch file is. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { forkAt, type Forked } from '../../client/commands/fork.ts';
import { placeOf } from '../../client/reference.ts';
import type { PagePlace } from '../../protocol/page.ts';
import { DEBUG_TYPE } from '../contributions/debuggers.ts';
import { wantedBatch } from '../batches/wanted.ts';
import { argumentPlace } from '../open/argument.ts';
import { pickTrajectory } from '../open/pick.ts';
import type { RegisterCommand, Services } from '../services.ts';
import { isBatchFile, liveOf, replayOf } from './configurations.ts';

/** Continuations that are offered for a fork. */
const OFFERED = 4;
const MOST = 1_000;

export function registerDebugCommands(services: Services, register: RegisterCommand): vscode.Disposable {
  return vscode.Disposable.from(
    register('rollout.debug', async (argument) => {
      const file = argument instanceof vscode.Uri && isBatchFile(argument) ? argument : undefined;
      const configuration = file === undefined ? await rolloutConfiguration(services, argument) : liveOf(file);
      if (configuration !== undefined) await start(configuration);
    }),
    register('rollout.attachDebugger', async (argument) => {
      const batch = await wantedBatch(services, argument, { title: 'Attach Debugger', sensible: (row) => row.state !== 'ended', direct: true });
      if (batch !== undefined) await start({ type: DEBUG_TYPE, request: 'attach', name: 'Attached to a batch', batch });
    }),
    register('rollout.fork', async (argument) => fork(services, argument)),
  );
}

async function start(configuration: vscode.DebugConfiguration): Promise<void> {
  await vscode.debug.startDebugging(vscode.workspace.workspaceFolders?.[0], configuration);
}

/** A rollout that is over is replayed; one that runs is attached to. */
async function rolloutConfiguration(services: Services, argument: unknown): Promise<vscode.DebugConfiguration | undefined> {
  const active = vscode.window.activeTextEditor?.document.uri;
  if (argument === undefined && services.pages.active.value === undefined && active !== undefined && isBatchFile(active)) return liveOf(active);
  const place = await wantedTrajectory(services, argument);
  if (place === undefined) return undefined;
  const { api } = await services.server.connection();
  const { row } = await api.rollout(place.rollout);
  if (row.state === 'ended') return replayOf(place.rollout, place.seq);
  return { type: DEBUG_TYPE, request: 'attach', name: 'Attached', rollout: place.rollout };
}

async function wantedTrajectory(services: Services, argument: unknown): Promise<Extract<PagePlace, { page: 'trajectory' }> | undefined> {
  const active = services.pages.active.value;
  const named = argumentPlace(argument) ?? (active?.page === 'trajectory' ? active : undefined) ?? (await pickTrajectory(services));
  if (named === undefined) return undefined;
  const place = typeof named === 'string' ? await placeOf((await services.server.connection()).api, named, new AbortController().signal) : named;
  if (place.page !== 'trajectory') throw new StudioError('usage', 'This needs an attempt, not a batch.');
  return place;
}

/** Continues a rollout from where its page stands, k times, as a batch of its own. */
async function fork(services: Services, argument: unknown): Promise<void> {
  const place = await wantedTrajectory(services, argument);
  if (place === undefined) return;
  const { api } = await services.server.connection();
  const point = await pointOf(services, place);
  const typed = await vscode.window.showInputBox({
    title: 'Fork', prompt: `How many times is the rollout continued from ${point.slice(place.rollout.length)}?`, value: String(OFFERED),
    validateInput: (text) => (/^\d+$/.test(text.trim()) && Number(text) >= 1 && Number(text) <= MOST ? undefined : `A number from 1 to ${MOST}.`),
  });
  if (typed === undefined) return;
  const make = (acceptIrreversible: boolean): Promise<Forked> => forkAt(api, point, { attempts: Number(typed), by: 'vscode', acceptIrreversible }, new AbortController().signal);
  const forked = await make(false).catch(async (error: unknown) => {
    if (!StudioError.is(error, 'conflict') || error.details?.['irreversible'] === undefined) throw error;
    const chosen = await vscode.window.showWarningMessage('Calls that cannot be undone may be made again.', { modal: true, detail: error.message }, 'Fork Anyway');
    return chosen === undefined ? undefined : make(true);
  });
  if (forked === undefined) return;
  services.batches.refresh();
  await services.pages.open({ page: 'batch', batch: forked.batch });
}

/** The point of a fork from a place, as a reference: before the model call there, or at the start of the tool call there, which is then made again. */
async function pointOf({ server }: Services, place: Extract<PagePlace, { page: 'trajectory' }>): Promise<string> {
  if (place.seq === undefined) return `${place.rollout}:${place.step ?? 1}`;
  const { api } = await server.connection();
  const [event] = (await api.events(place.rollout, { after: place.seq - 1, limit: 1 })).events;
  return `${place.rollout}@${event?.kind === 'model.start' ? place.seq - 1 : place.seq}`;
}

/** Implements Stop, Pause, Pause and Release Pods, Resume, Retry Unsettled, and Copy Reference. */
import * as vscode from 'vscode';
import { StudioError } from '../../common/errors.ts';
import { newId } from '../../common/ids.ts';
import { plural } from '../../common/text.ts';
import type { BatchCommand, CommandReply } from '../../protocol/commands.ts';
import { placeReference } from '../../protocol/editorLink.ts';
import { askValue } from '../launch/values/askValue.ts';
import type { StoredValues } from '../launch/values/storedValues.ts';
import { withValues } from '../launch/values/withValues.ts';
import { argumentPlace } from '../open/argument.ts';
import type { CommandGroup, Services } from '../services.ts';
import { isLive } from './batchText.ts';
import { pickBatch } from './pickBatch.ts';

/** The author that the events of a batch record. */
const AUTHOR = 'vscode';

type ControlCommand =
  | 'rollout.pauseBatch'
  | 'rollout.releasePods'
  | 'rollout.resumeBatch'
  | 'rollout.stopBatch'
  | 'rollout.retryUnsettled'
  | 'rollout.releaseAttempt'
  | 'rollout.copyReference';

export function controlCommands(services: Services, values: StoredValues): CommandGroup<ControlCommand> {
  return {
    'rollout.pauseBatch': async (argument) => {
      const batch = await pickBatch(services, argument, { title: 'Pause', applies: isLive, direct: true });
      if (batch !== undefined) await command(services, batch, { verb: 'pause' });
    },
    'rollout.releasePods': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Pause and Release Pods',
        applies: (row) => row.state !== 'ended' && row.released !== true,
        direct: true,
      });
      if (batch === undefined) return;
      const { text } = await command(services, batch, { verb: 'pause', args: { release: true } });
      void vscode.window.showInformationMessage(text ?? 'The batch is paused. Its pods are released.');
    },
    'rollout.resumeBatch': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Resume',
        applies: (row) => row.state === 'paused',
        direct: true,
      });
      if (batch !== undefined) await withSent(services, batch, 'resume', values);
    },
    'rollout.stopBatch': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Stop',
        applies: (row) => row.state !== 'ended',
        direct: true,
      });
      if (batch !== undefined) await stop(services, batch);
    },
    'rollout.retryUnsettled': async (argument) => {
      const batch = await pickBatch(services, argument, {
        title: 'Retry Unsettled',
        applies: (row) => !row.imported && row.counts.infrastructure + row.counts.cancelled > 0,
      });
      if (batch !== undefined) await retry(services, batch, values);
    },
    'rollout.releaseAttempt': (argument) => release(services, argument),
    'rollout.copyReference': (argument) => copyReference(services, argument),
  };
}

async function command(
  services: Services,
  batch: string,
  request: Pick<BatchCommand, 'verb' | 'args'>,
): Promise<CommandReply> {
  const { api } = await services.server.connection();
  const reply = await api.commandBatch(batch, { command: newId('c'), by: AUTHOR, ...request });
  services.batches.refresh();
  return reply;
}

/** Releases a held attempt, given as a tree row. */
async function release({ server }: Services, argument: unknown): Promise<void> {
  const place = argumentPlace(argument);
  if (typeof place !== 'object' || place.page !== 'trajectory') return;
  const { api } = await server.connection();
  await api.commandRollout(place.rollout, { command: newId('c'), verb: 'release', by: AUTHOR });
}

async function stop(services: Services, batch: string): Promise<void> {
  const row = await services.batches.get(batch);
  if (row.state === 'ended') {
    void vscode.window.showInformationMessage(`${row.name} has already ended.`);
    return;
  }
  const { running, held, queued } = row.counts;
  if (running + held + queued > 0) {
    const detail =
      `This cancels ${plural(running + held, 'running attempt')} and ${plural(queued, 'queued attempt')}. ` +
      'Attempts that have ended are kept.';
    if ((await vscode.window.showWarningMessage(`Stop ${row.name}?`, { modal: true, detail }, 'Stop')) !== 'Stop')
      return;
  }
  await command(services, batch, { verb: 'cancel', args: { reason: 'Stopped in the editor.' } });
}

/** Sends a command, with the values of `${env:…}` if the server no longer has them. */
async function withSent(
  services: Services,
  batch: string,
  verb: 'resume' | 'retry',
  values: StoredValues,
): ReturnType<typeof command> {
  const { result } = await withValues(values, [], askValue, (secrets) =>
    command(services, batch, { verb, ...(Object.keys(secrets).length === 0 ? {} : { args: { secrets } }) }),
  );
  return result;
}

/** Retries a batch. Its values are sent again, because the server drops them when a batch ends. */
async function retry(services: Services, batch: string, values: StoredValues): Promise<void> {
  const { changed } = await withSent(services, batch, 'retry', values);
  void vscode.window.showInformationMessage(
    changed === undefined || changed === 0
      ? 'Every attempt of this batch already has a result.'
      : `Retrying ${plural(changed, 'attempt')}.`,
  );
}

async function copyReference({ pages }: Services, argument: unknown): Promise<void> {
  const reference = referenceOf(argument);
  const active = pages.active.value;
  const text = reference ?? (active === undefined ? undefined : placeReference(active));
  if (text === undefined) throw new StudioError('usage', 'Open the page of a batch or a trajectory first.');
  await vscode.env.clipboard.writeText(text);
  vscode.window.setStatusBarMessage(`$(copy) Copied ${text}`, 3_000);
}

/** Returns the reference of a tree row. */
function referenceOf(argument: unknown): string | undefined {
  if (
    typeof argument === 'object' &&
    argument !== null &&
    'reference' in argument &&
    typeof argument.reference === 'string'
  )
    return argument.reference;
  const place = argument instanceof vscode.Uri ? undefined : argumentPlace(argument);
  return place === undefined || typeof place === 'string' ? place : placeReference(place);
}
